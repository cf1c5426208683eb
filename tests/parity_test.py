#!/usr/bin/env python3
"""Every shell gives the same document: the CLI, HTTP and WebAssembly are asked the same and compared number by number.
tests/python/test_parity.py asks the Python package.

Usage: parity_test.py BUILD_FOLDER
"""

import json
import re
import shutil
import subprocess
import sys
import unittest
import urllib.request
from pathlib import Path

from parity import REQUESTS, ask_tool, unlike

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else ROOT / "build"
TOOL = BUILD / "qkv"
MODULE = ROOT / "build-wasm" / "explain.wasm"


def has_page():
    return "QKV_EMBED_PAGE:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")


class Parity(unittest.TestCase):
    def setUp(self):
        if not TOOL.is_file():
            self.skipTest(f"there is no {TOOL}")

    def test_wasm_answers_as_the_tool_does(self):
        if shutil.which("node") is None or not MODULE.is_file():
            self.skipTest("needs node and build-wasm/explain.wasm (make site)")
        command = ["node", Path(__file__).with_name("ask_wasm.mjs"), MODULE]
        done = subprocess.run(command, input=json.dumps(REQUESTS), capture_output=True, text=True, check=True)
        for request, (status, text) in zip(REQUESTS, json.loads(done.stdout), strict=True):
            with self.subTest(request=request):
                self.assertEqual(status, 0, text)
                self.assertEqual(unlike(ask_tool(TOOL, request), json.loads(text)), [])

    def test_http_answers_as_the_tool_does(self):
        if not has_page():
            self.skipTest("this qkv was built without the page")
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
                        self.assertEqual(json.load(answer), ask_tool(TOOL, request))
        finally:
            server.terminate()
            server.wait(timeout=10)
            server.stdout.close()

    def test_the_comparison_itself_sees_what_differs(self):
        one = {"a": [1.0, True], "b": "text"}
        self.assertEqual(unlike(one, {"a": [1.0 + 2**-51, True], "b": "text"}), [])
        for other in (
            {"a": [1.001, True], "b": "text"},
            {"a": [1.0, 1], "b": "text"},
            {"a": [1.0], "b": "text"},
            {"b": "text", "a": [1.0, True]},
            {"a": [1.0, True], "b": "Text"},
            {"a": [1.0, None], "b": "text"},
        ):
            self.assertEqual(len(unlike(one, other)), 1, other)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
