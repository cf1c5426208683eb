#!/usr/bin/env python3
"""Two builds of the tool, by different compilers, say the same.

Usage: compilers_agree.py QKV QKV [--junit FILE]

The reference is plain float64 without contraction, so `explain --json` must agree byte for byte. The kernel may be
scheduled differently, so `run` may differ, by no more than TOLERANCE.
"""

import array
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOLERANCE = 2e-6  # the bound of docs/semantics.md for f32 on values of size 1
EXPLAINED = (
    ["bank"],
    ["running"],
    ["running", "--causal", "--head", "0"],
    ["backward", "--backward"],
    ["examples/minilm.safetensors", "--batch", "0", "--head", "4"],
)


def output(tool, arguments):
    return subprocess.run([tool, *arguments], cwd=ROOT, capture_output=True, check=True).stdout


def tensor_f32(path, name):
    """One f32 tensor of a safetensors file, as a flat array."""
    data = Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    begin, end = json.loads(data[8 : 8 + length])[name]["data_offsets"]
    values = array.array("f")
    values.frombytes(data[8 + length + begin : 8 + length + end])
    return values


def explain_agrees(first, second, arguments):
    """None, or what differs."""
    texts = [output(tool, ["explain", *arguments, "--json"]) for tool in (first, second)]
    if texts[0] == texts[1]:
        return None
    at = next((i for i, (a, b) in enumerate(zip(*texts)) if a != b), min(map(len, texts)))
    return f"byte {at}: {texts[0][at - 40 : at + 40]!r} and {texts[1][at - 40 : at + 40]!r}"


def run_agrees(first, second, target):
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("first.safetensors", "second.safetensors")]
        for tool, file in zip((first, second), files):
            output(tool, ["run", "examples/minilm.safetensors", "-o", file, "--target", target])
        values = [tensor_f32(file, "o") for file in files]
    if len(values[0]) != len(values[1]):
        return f"{len(values[0])} and {len(values[1])} elements"
    # A NaN is a difference too: it is not <= anything.
    wrong = sum(1 for a, b in zip(*values) if not abs(a - b) <= TOLERANCE)
    print(f"run --target {target}: largest difference {max(abs(a - b) for a, b in zip(*values)):.3g}")
    return f"{wrong} of {len(values[0])} elements differ by more than {TOLERANCE}" if wrong else None


def main(first, second, junit=None):
    first, second = str(Path(first).resolve()), str(Path(second).resolve())
    verdicts = {}
    for arguments in EXPLAINED:
        verdicts["explain " + " ".join(arguments)] = explain_agrees(first, second, arguments)
    for target in ("auto", "portable"):
        verdicts[f"run --target {target}"] = run_agrees(first, second, target)
    lines = []
    for name, problem in verdicts.items():
        print(f"{name}: {problem or 'the same'}")
        lines.append(f'<testcase name="compilers: {name}">{"<failure/>" if problem else ""}</testcase>')
    if junit:
        Path(junit).write_text("<testsuite>" + "".join(lines) + "</testsuite>", encoding="utf-8")
    return 1 if any(verdicts.values()) else 0


if __name__ == "__main__":
    arguments = [word for word in sys.argv[1:] if word != "--junit"]
    if len(arguments) not in (2, 3):
        sys.exit(__doc__)
    sys.exit(main(*arguments))
