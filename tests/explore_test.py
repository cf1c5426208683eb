#!/usr/bin/env python3
"""`qkv explore` as a reader starts it: the address on a line of its own, the page, an explanation, Ctrl-C.

Usage: explore_test.py [BUILD FOLDER]   (default build/)
Exits 77, which ctest counts as skipped, where there is no tool or it was built without the page.
"""

import json
import re
import select
import signal
import subprocess
import sys
import unittest
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOL = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve() / "qkv"


def start(*arguments):
    """The process and the address that it prints within ten seconds."""
    port = [] if "--port" in arguments else ["--port", "0"]
    process = subprocess.Popen([TOOL, "explore", *port, *arguments], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    ready = select.select([process.stdout], [], [], 10)[0]
    line = process.stdout.readline() if ready else ""
    found = re.fullmatch(r"The explorer is at (http://127\.0\.0\.1:\d+/) \(Ctrl-C ends it\)\n", line)
    if not found:
        process.kill()
        raise AssertionError(f"no address in {line!r}: {process.communicate()[1]}")
    return process, found[1]


def fetch(address, body=None):
    request = urllib.request.Request(address, data=body and json.dumps(body).encode(),
                                     headers={"Content-Type": "application/json"} if body else {})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode("utf-8", errors="replace")


class Explore(unittest.TestCase):
    def served(self, *arguments):
        process, address = start(*arguments)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        return process, address

    def test_the_page_and_every_file_that_it_names_are_inside_the_tool(self):
        _, address = self.served()
        page = fetch(address)
        self.assertIn("<html", page)
        names = re.findall(r'(?:src|href)="\./([^"#]+)"', page)
        self.assertTrue(any(name.endswith(".js") for name in names), names)
        for name in names:
            self.assertTrue(fetch(address + name), name)

    def test_it_explains_as_the_command_line_does(self):
        _, address = self.served()
        shown = subprocess.run([TOOL, "explain", "bank", "--json"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(fetch(address + "api/explain", {"example": "bank"}), shown.rstrip("\n"))
        self.assertEqual(fetch(address + "api/opened"), "null")

    def test_a_file_is_there_to_be_asked_for_and_can_be_explained(self):
        _, address = self.served(str(ROOT / "examples" / "minilm.safetensors"))
        opened = json.loads(fetch(address + "api/opened"))
        self.assertEqual(opened["name"], "minilm.safetensors")
        document = json.loads(fetch(address + "api/explain", {**opened["request"], "row": "bank"}))
        self.assertEqual(document["dims"]["Hq"], 12)

    def test_ctrl_c_ends_it_with_0_and_frees_the_port(self):
        for end in (signal.SIGINT, signal.SIGTERM):
            process, address = self.served()
            fetch(address)
            process.send_signal(end)
            self.assertEqual(process.wait(10), 0)
            self.assertEqual(process.stderr.read(), "")
            again, _ = self.served("--port", address.rstrip("/").rsplit(":", 1)[1])
            self.assertIsNone(again.poll())

    def test_a_port_that_is_taken_is_a_message(self):
        _, address = self.served()
        port = address.rstrip("/").rsplit(":", 1)[1]
        second = subprocess.run([TOOL, "explore", "--port", port], capture_output=True, text=True, check=False)
        self.assertEqual(second.returncode, 2)
        self.assertIn(f"qkv explore: port {port} of 127.0.0.1 is in use", second.stderr)


if __name__ == "__main__":
    settings = TOOL.parent / "CMakeCache.txt"
    if not TOOL.exists() or "QKV_EMBED_PAGE:BOOL=ON" not in settings.read_text(encoding="utf-8"):
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=1)
