#!/usr/bin/env python3
"""The documents name no missing path, and what they tell a reader to type works.

Usage: docs_test.py [BUILD FOLDER]   (default build/; its qkv stands in for ./build/qkv)

A ```sh block is run line by line from a copy of the project's top folder; `make` and `cmake` lines only with `make -n`.
A block after the line `<!-- not run: REASON -->` is skipped. A ```cpp or ```c block must stand word for word in
examples/*.cc or *.c, unless marked in the same way. Python blocks are run by tests/python/test_docs.py.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])
BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n+)?^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Written by the build or by the reader, so absent from a fresh clone.
MADE_LATER = ("build/", "build-", ".venv")


def top_entries():
    return {path.name for path in ROOT.iterdir()}


def blocks(text, language):
    """(marked as not run, body) of every fenced block in a language."""
    return [(bool(mark), body) for mark, found, body in BLOCK.findall(text) if found == language]


def paths_in(text):
    """What looks like a path of this project: in backticks or a relative link, starting at a top entry."""
    without_blocks = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    words = re.findall(r"`([^`\n]+)`", without_blocks)
    links = re.findall(r"\]\(([^)#\s]+)", without_blocks)
    found = []
    for word in words:
        word = word.removeprefix("./")
        if "/" in word and word.split("/")[0] in top_entries() and re.fullmatch(r"[\w./*{},+-]+", word):
            found.append(word)
    return found, [link for link in links if "://" not in link and not link.startswith("mailto:")]


def exists(pattern, base):
    """Whether a path or a glob names something; {a,b} is expanded."""
    braces = re.match(r"(.*)\{([^}]*)\}(.*)", pattern)
    if braces:
        return all(exists(braces[1] + part + braces[3], base) for part in braces[2].split(","))
    return any(base.glob(pattern.rstrip("/"))) if "*" in pattern else (base / pattern).exists()


def shell_lines(body):
    """The commands of a block: continuation lines joined, comments and prompts dropped."""
    for line in body.replace("\\\n", " ").splitlines():
        line = line.strip().removeprefix("$ ")
        if line and not line.startswith("#"):
            yield line


class Documents(unittest.TestCase):
    def test_no_document_names_a_missing_path(self):
        missing = []
        for document in DOCUMENTS:
            words, links = paths_in(document.read_text(encoding="utf-8"))
            missing += [f"{document.relative_to(ROOT)}: {word}" for word in words
                        if not word.startswith(MADE_LATER) and not exists(word, ROOT)]
            missing += [f"{document.relative_to(ROOT)}: {link}" for link in links if not exists(link, document.parent)]
        self.assertEqual(missing, [])

    def test_the_check_itself_sees_a_missing_path(self):
        words, links = paths_in("see `src/core/no_such.cc` and [that](docs/none.md), not `a/b`")
        self.assertEqual((words, links), (["src/core/no_such.cc"], ["docs/none.md"]))
        self.assertFalse(exists(words[0], ROOT))

    def test_every_make_target_that_a_document_names_exists(self):
        wrong = []
        for document in DOCUMENTS:
            text = document.read_text(encoding="utf-8")
            for target in set(re.findall(r"(?:`|^\s*(?:\$ )?)make ([a-z]+)", text, re.MULTILINE)):
                run = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
                if run.returncode:
                    wrong.append(f"{document.relative_to(ROOT)}: make {target}: {run.stderr.strip()}")
        self.assertEqual(wrong, [])

    def test_every_command_runs(self):
        if not (BUILD / "qkv").exists():
            self.skipTest(f"no tool at {BUILD}/qkv")
        failed = []
        for document in DOCUMENTS:
            for marked, body in blocks(document.read_text(encoding="utf-8"), "sh"):
                if not marked:
                    failed += self.run_block(document.relative_to(ROOT), body)
        self.assertEqual(failed, [])

    def run_block(self, document, body):
        failed = []
        with tempfile.TemporaryDirectory() as folder:
            # What a command writes lands in the temporary folder; what it reads are links to the project.
            for entry in ROOT.iterdir():
                if not entry.name.startswith(("build", ".git")):
                    os.symlink(entry, Path(folder) / entry.name)
            os.symlink(BUILD, Path(folder) / "build")
            for line in shell_lines(body):
                command = re.sub(r"^make\b", "make -n", line)
                run = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, capture_output=True,
                                     text=True, timeout=300, check=False)
                if run.returncode:
                    failed.append(f"{document}: {line}\n  exit {run.returncode}: {run.stderr.strip()[-400:]}")
        return failed

    def test_c_and_cpp_blocks_are_taken_from_the_examples(self):
        def squeezed(text):
            return "\n".join(line.strip() for line in text.splitlines() if line.strip())

        wrong = []
        for language, pattern in (("cpp", "examples/*.cc"), ("c", "examples/*.c")):
            examples = [squeezed(path.read_text(encoding="utf-8")) for path in ROOT.glob(pattern)]
            for document in DOCUMENTS:
                for marked, body in blocks(document.read_text(encoding="utf-8"), language):
                    if not marked and not any(squeezed(body) in example for example in examples):
                        wrong.append(f"{document.relative_to(ROOT)}: {body.splitlines()[0]} ...")
        self.assertEqual(wrong, [])


class Makefile(unittest.TestCase):
    def test_help_lists_every_target(self):
        text = (ROOT / "Makefile").read_text(encoding="utf-8")
        phony = set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split())
        shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        self.assertEqual(set(re.findall(r"^  make ([\w-]+)", shown, re.MULTILINE)), phony)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
