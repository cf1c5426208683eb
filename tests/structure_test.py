#!/usr/bin/env python3
"""The rules of docs/architecture.md that a compiler does not see: who includes whom, lengths and names of files."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# A folder may include its own level and lower ones. Tests, benches and examples are leaves: they may include anything.
LEVELS = {
    "include/qkv": 0,
    "src/core": 1,
    "src/ops": 2,
    "src/layer": 3,
    "src/io": 4,
    "src/check": 4,
    "src/survey": 4,
    "src/c": 4,
    "src/capture": 5,
    "src/explain": 5,
    "bench": 6,
    "apps/server": 7,
    "apps": 8,
}
SIBLINGS_THAT_MUST_NOT_MEET = {"src/io", "src/check", "src/survey"}
LEAVES = ("tests/", "examples/")
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
# First match counts: (path pattern, most lines).
LENGTHS = [
    (r"^include/qkv/.*\.h$", 250),
    (r"^src/ops/.*\.(cc|h)$", 500),
    (r"^apps/.*\.(cc|h|py)$", 300),
    (r"^examples/.*\.cc?$", 80),
    (r"\.(cc|h)$", 600),
]


def project_files():
    """Tracked and new files, without ignored ones; a source package without git is walked instead."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        names = listed.stdout.splitlines()
    else:
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")]
        names = [name for name in names if not name.startswith(("build", ".venv", "web/node_modules"))]
    return sorted(name for name in names if (ROOT / name).is_file())


FILES = project_files()
SOURCES = [name for name in FILES if name.endswith((".cc", ".h"))]


def folder_of(name):
    """The folder of LEVELS that a file belongs to, or None."""
    return next((folder for folder in LEVELS if name.startswith(folder + "/")), None)


def is_leaf(name):
    if name.startswith("src/") and name.endswith("_bench.cc"):
        return True
    return name.startswith(LEAVES) or name.endswith(("_test.cc", "_testing.cc", "_testing.h"))


def includes_of(name, text):
    """Project files that `text` includes with quotes, as paths from the root."""
    found = []
    for target in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.MULTILINE):
        for candidate in ("include/" + target, target, str(Path(name).parent / target)):
            if (ROOT / candidate).is_file():
                found.append(candidate)
                break
    return found


def back_edges(name, includes):
    """The includes of a file that look upward, or sideways between folders that must not know each other."""
    own = folder_of(name)
    if own is None or is_leaf(name):
        return []
    wrong = []
    for target in includes:
        other = folder_of(target)
        if is_leaf(target) or other is None or LEVELS[other] > LEVELS[own]:
            wrong.append(target)
        elif other != own and {own, other} <= SIBLINGS_THAT_MUST_NOT_MEET:
            wrong.append(target)
    return wrong


class IncludeGraph(unittest.TestCase):
    def test_nobody_looks_upward(self):
        wrong = []
        for name in SOURCES:
            text = (ROOT / name).read_text(encoding="utf-8")
            wrong += [f"{name} includes {target}" for target in back_edges(name, includes_of(name, text))]
        self.assertEqual(wrong, [])

    def test_the_check_itself_sees_a_back_edge(self):
        self.assertEqual(back_edges("src/core/tensor.cc", ["src/io/npy.h"]), ["src/io/npy.h"])
        self.assertEqual(back_edges("src/io/npy.cc", ["src/check/compare.h"]), ["src/check/compare.h"])
        self.assertEqual(back_edges("src/io/npy.cc", ["src/core/shape_table.h", "include/qkv/tensor.h"]), [])
        self.assertEqual(back_edges("src/ops/softmax/softmax_test.cc", ["src/check/compare.h"]), [])

    def test_highway_stays_inside_core_ops_and_survey(self):
        allowed = ("src/core/", "src/ops/", "src/survey/")
        wrong = [
            name
            for name in SOURCES
            if not name.startswith(allowed) and not is_leaf(name)
            and re.search(r'#\s*include\s+["<]hwy/', (ROOT / name).read_text(encoding="utf-8"))
        ]
        self.assertEqual(wrong, [])

    def test_public_headers_name_no_third_party(self):
        wrong = [
            name
            for name in SOURCES
            if name.startswith("include/")
            and re.search(r'#\s*include\s+["<](hwy|nlohmann|nanobind|tbb|oneapi|CLI|zip)\b',
                          (ROOT / name).read_text(encoding="utf-8"))
        ]
        self.assertEqual(wrong, [])


class Files(unittest.TestCase):
    def test_no_file_is_longer_than_its_limit(self):
        wrong = []
        for name in FILES:
            limit = next((limit for pattern, limit in LENGTHS if re.search(pattern, name)), None)
            if limit is None:
                continue
            lines = (ROOT / name).read_text(encoding="utf-8").count("\n")
            if lines > limit and not (is_leaf(name) and not name.startswith("examples/") and lines <= 600):
                wrong.append(f"{name}: {lines} lines, at most {limit}")
        self.assertEqual(wrong, [])

    def test_no_catch_all_names(self):
        wrong = [name for name in FILES if {Path(part).stem.lower() for part in Path(name).parts} & FORBIDDEN_NAMES]
        self.assertEqual(wrong, [])

    def test_every_source_opens_with_its_purpose(self):
        wrong = [name for name in SOURCES if not (ROOT / name).read_text(encoding="utf-8").startswith("//")]
        self.assertEqual(wrong, [])

    def test_nothing_is_left_to_do(self):
        marks = re.compile(r"\b(TODO|FIXME|XXX)\b")
        skip = {"tests/structure_test.py"}
        wrong = [
            name
            for name in FILES
            if name.endswith((".cc", ".h", ".py", ".sh", ".md", ".txt", ".cmake")) and name not in skip
            and marks.search((ROOT / name).read_text(encoding="utf-8"))
        ]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
