#!/usr/bin/env python3
"""The C++ and the shell that the lesson shows (examples/lesson/) print the lesson's numbers.

Usage: lesson_code_test.py [BUILD FOLDER]   (default build/). The Python is run by tests/python/test_lesson_code.py.
"""

import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?")


def lesson(name):
    return json.loads((ROOT / "tests/data/lesson" / f"{name}.json").read_text(encoding="utf-8"))


def printed(*command):
    environment = os.environ | {"PATH": f"{BUILD}{os.pathsep}{os.environ['PATH']}"}
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    if run.returncode:
        raise AssertionError(f"{command[0]} ended with {run.returncode}: {run.stderr}")
    return run.stdout


def numbers(text):
    return [float(number) for number in NUMBER.findall(text)]


def flat(*matrices):
    return [number for matrix in matrices for row in matrix for number in row]


class LessonCode(unittest.TestCase):
    def test_bank_in_c_plus_plus_prints_a_and_o_of_all_three_queries(self):
        prints = lesson("bank")["page_prints"]
        program = BUILD / "examples/example_lesson_bank_cc"
        self.assertEqual(numbers(printed(program)), flat(prints["weights"], prints["output"]))

    def test_backward_in_c_plus_plus_prints_the_gradients_beside_differences_that_agree(self):
        file = lesson("backward")
        *blocks, rest = printed(BUILD / "examples/example_lesson_backward_cc").split("\n\n")
        self.assertEqual(rest, "")
        for name, block in zip(("dq", "dk", "dv"), blocks):
            found = numbers(block)
            self.assertEqual(found[:-1], [round(number, 3) for number in flat(file[name])], name)
            self.assertLess(found[-1], 1e-8, name)

    def test_bank_in_the_shell_prints_a_and_o_and_then_what_the_river_changes(self):
        if not (BUILD / "qkv").exists():
            self.skipTest(f"no tool at {BUILD}/qkv")
        text = printed("sh", ROOT / "examples/lesson/bank.sh")
        prints = lesson("bank")["page_prints"]
        for name, weights, output in zip(("sat", "bank", "river"), prints["weights"], prints["output"]):
            row = [rf"{number:.2f}" for number in weights] + [".*"] + [f"{number:.2f}" for number in output]
            self.assertRegex(text, rf"{name}\s+" + r"\s+".join(row).replace(r"\s+.*\s+", rf"\s.*{name}\s+"))
        self.assertIn("[0.23 0.77]", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
