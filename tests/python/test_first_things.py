"""The three things that README.md and docs/python.md show first are the same, and do what they say."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK = re.compile(r"<!-- not run: [^\n]*test_first_things.py runs it -->\n```python\n(.*?)^```",
                   re.MULTILINE | re.DOTALL)


def first_things(document):
    (block,) = BLOCK.findall((ROOT / document).read_text())
    return block


def test_both_documents_show_the_same():
    assert first_things("README.md") == first_things("docs/python.md")


def test_they_run_and_say_what_is_wrong(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch", reason="the first three things are PyTorch's")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(first_things("README.md"), "README.md", "exec"), names)
    assert names["p"].shape == (2, 512) and abs(names["p"].sum(axis=1) - 1).max() < 1e-6
    said = capsys.readouterr().out
    assert "looks like" in said and "the scale applied twice" in said
