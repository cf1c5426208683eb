#!/usr/bin/env python3
"""Every shell gives the same document: the CLI, HTTP and WebAssembly are asked the same and compared number by number.

Usage: parity_test.py BUILD_FOLDER
"""

import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT / "build"
TOOL = BUILD / "qkv"
MODULE = ROOT / "build-wasm" / "explain.wasm"
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
]
MOST_ULP = 4  # exp and log are another C library's in the browser
# Differences divide what is left of the loss by the step: an ulp of the loss becomes 1e-16 / step there.
MOST_DIFFERENCE = 1e-8


def ask_tool(request):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "request.json"
        file.write_text(json.dumps(request), encoding="utf-8")
        done = subprocess.run([TOOL, "explain", file, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def ulps(a, b):
    scale = max(abs(a), abs(b))
    return 0 if a == b else abs(a - b) / math.ulp(scale)


class Parity(unittest.TestCase):
    def same(self, a, b, path=""):
        self.assertEqual(isinstance(a, (int, float)), isinstance(b, (int, float)), path)
        if isinstance(a, dict):
            self.assertEqual(list(a), list(b), path)
            for name in a:
                self.same(a[name], b[name], f"{path}.{name}")
        elif isinstance(a, list):
            self.assertEqual(len(a), len(b), path)
            for index, (one, other) in enumerate(zip(a, b)):
                self.same(one, other, f"{path}[{index}]")
        elif isinstance(a, (int, float)) and not isinstance(a, bool):
            close = abs(a - b) <= MOST_DIFFERENCE if ".differences" in path else abs(a - b) <= 4e-16
            self.assertTrue(close or ulps(a, b) <= MOST_ULP, f"{path}: {a!r} and {b!r}")
        else:
            self.assertEqual(a, b, path)

    def setUp(self):
        if not TOOL.is_file():
            self.skipTest(f"there is no {TOOL}")

    def test_wasm_answers_as_the_tool_does(self):
        if shutil.which("node") is None or not MODULE.is_file():
            self.skipTest("needs node and build-wasm/explain.wasm (make site)")
        command = ["node", Path(__file__).with_name("ask_wasm.mjs"), MODULE]
        done = subprocess.run(command, input=json.dumps(REQUESTS), capture_output=True, text=True, check=True)
        for request, (status, text) in zip(REQUESTS, json.loads(done.stdout)):
            with self.subTest(request=request):
                self.assertEqual(status, 0, text)
                self.same(ask_tool(request), json.loads(text))

    def test_http_answers_as_the_tool_does(self):
        server = subprocess.Popen([TOOL, "explore", "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            address = ""
            while not (found := re.search(r"http://[0-9.]+:\d+/", address)):
                address = server.stdout.readline()
                self.assertTrue(address, "the server ended")
            for request in REQUESTS:
                with self.subTest(request=request):
                    post = urllib.request.Request(
                        found[0] + "api/explain",
                        data=json.dumps(request).encode(),
                        headers={"Content-Type": "application/json"},
                    )
                    with urllib.request.urlopen(post, timeout=30) as answer:
                        self.assertEqual(json.load(answer), ask_tool(request))
        finally:
            server.terminate()
            server.wait(timeout=10)
            server.stdout.close()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
