#!/usr/bin/env python3
"""Adds up JUnit files (ctest's and pytest's) and prints "N passed, N failed"; exits 1 if a test failed or none ran."""

import sys
import xml.etree.ElementTree as ET


def count(path):
    """(passed, failed, skipped) of one file; a file that cannot be read is one failure."""
    try:
        cases = list(ET.parse(path).iter("testcase"))
    except (OSError, ET.ParseError) as error:
        print(f"tally: {path}: {error}", file=sys.stderr)
        return 0, 1, 0
    failed = sum(1 for case in cases if case.find("failure") is not None or case.find("error") is not None)
    skipped = sum(1 for case in cases if case.find("skipped") is not None)
    return len(cases) - failed - skipped, failed, skipped


def main():
    counts = [count(path) for path in sys.argv[1:]]
    passed, failed, skipped = (sum(column) for column in zip(*counts)) if counts else (0, 0, 0)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
