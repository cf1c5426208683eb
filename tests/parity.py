"""What every shell is asked by the parity tests, and what counts as the same answer."""

import json
import math
import subprocess
import tempfile
from pathlib import Path

REQUESTS = [
    {"example": "bank"},
    {"example": "bank", "set": ["v[river]=0,1"]},
    {"example": "bank", "causal": True, "row": 0},
    {"example": "running"},
    {"example": "running", "causal": True, "head": 1},
    {"example": "running", "scale": 1},
    {"example": "backward", "backward": True},
    {"example": "backward", "backward": True, "step": 0.001},
    {"q": [[1e300, 123456789012345680]], "k": [[1e-300, 5e-324]], "v": [[0.1]], "softcap": 3},
    {"op": "shapes", "preset": "gpt2_small"},
    {"op": "shapes", "n": 5, "C": 4, "heads": 2, "found": {"wq": [2, 4]}},
    {"op": "scores"},
    {"op": "scores", "n": 24, "d_k": 128, "seed": 7, "function": "mix", "mix": [1, 0.5, 0.5], "divide": False},
    {"op": "scores", "n": 5, "d_k": 3, "function": "content", "targets": [0, 0, 1, 2, 3], "causal": True},
    {"op": "scores", "n": 9, "function": "decay"},
]
MOST_ULP = 4  # exp and log are another C library's in the browser
# Differences divide what is left of the loss by the step: an ulp of the loss becomes 1e-16 / step there.
MOST_DIFFERENCE = 1e-8


def ask_tool(tool, request):
    """The document that the command line prints."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "request.json"
        file.write_text(json.dumps(request), encoding="utf-8")
        done = subprocess.run([tool, "explain", file, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def are_close(a, b, path):
    if a == b or abs(a - b) <= (MOST_DIFFERENCE if ".differences" in path else 4e-16):
        return True
    return abs(a - b) <= MOST_ULP * math.ulp(max(abs(a), abs(b)))


def unlike(a, b, path="document"):
    """Where two documents are not the same, as sentences: names and their order, texts, numbers to a few ulp."""
    if is_number(a) and is_number(b):
        return [] if are_close(a, b, path) else [f"{path}: {a!r} and {b!r}"]
    if isinstance(a, dict) and isinstance(b, dict) and list(a) == list(b):
        return [found for name in a for found in unlike(a[name], b[name], f"{path}.{name}")]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [found for i, pair in enumerate(zip(a, b)) for found in unlike(*pair, f"{path}[{i}]")]
    is_same = type(a) is type(b) and a == b and not isinstance(a, (dict, list))
    return [] if is_same else [f"{path}: {str(a)[:80]} and {str(b)[:80]}"]
