"""qkv.explain gives the document that the tool prints; tests/parity_test.py asks the other shells the same."""

import json
import math
import sys
from pathlib import Path

import pytest
import qkv

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))
from parity import REQUESTS, ask_tool, unlike  # noqa: E402

TOOL = TESTS.parent / "build" / "qkv"


def as_json(value):
    """Infinities and NaN as the texts that JSON has for them; Python's documents hold numbers."""
    if isinstance(value, dict):
        return {name: as_json(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [as_json(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


@pytest.mark.skipif(not TOOL.is_file(), reason="there is no build/qkv (make build)")
@pytest.mark.parametrize("request_fields", REQUESTS, ids=json.dumps)
def test_python_answers_as_the_tool_does(request_fields):
    assert unlike(ask_tool(TOOL, request_fields), as_json(qkv.explain(**request_fields))) == []
