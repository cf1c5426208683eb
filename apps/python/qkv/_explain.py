"""What explains: every number of a small problem, shapes, and what the machine can run."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._show import Shown

# JSON has no infinities and no NaN; the library writes them as these strings.
_NO_NUMBERS = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
_NUMBER_FIELDS = {"values", "before", "after", "slopes", "sinks"}


class Document(Shown, dict[str, Any]):
    """What `qkv.explain` returns: the document of docs/explain.md as a dict.

    Printed it is a text: shapes, and the first rows of the head that was
    asked for. In a notebook it is the explorer's panel, if anywidget is
    installed and the document has at most 500,000 numbers.
    """

    def __init__(self, fields: dict[str, Any], request: dict[str, Any]) -> None:
        super().__init__(fields)
        self._request = request

    def _sizes(self) -> tuple[int, int]:
        return self["select"]["batches"], self["dims"]["Hq"]

    def _numbers(self) -> int:
        return sum(math.prod(stage["shape"]) for stage in self["stages"])

    def _place(self) -> tuple[int, int]:
        return self["select"]["batch"], self["select"]["head"]

    def _document(self, batch: int, head: int) -> str:
        if "set" in self._request and (batch, head) != self._place():
            where = "batch entry {}, head {}".format(*self._place())
            raise ValueError(f"the edits are of {where}; explain another on its own")
        return _core.explain(request_text({**self._request, "batch": batch, "head": head}))

    def _title(self) -> str:
        return self["problem"]

    def _stages(self) -> list[tuple[str, Sequence[int]]]:
        return [(stage["name"], stage["shape"]) for stage in self["stages"]]

    def _matrix(self, name: str) -> np.ndarray[Any, Any] | None:
        stage = next((stage for stage in self["stages"] if stage["name"] == name), None)
        if stage is None or 0 in stage["shape"]:
            return None
        values = np.array(stage["values"], dtype=np.float64)
        heads = values.reshape(-1, *values.shape[-2:])
        select = self["select"]
        return heads[select["head"] if len(heads) == self["dims"]["Hq"] else select["kv_head"]]


def explain(example: str | None = None, /, **fields: Any) -> dict[str, Any]:
    """Every number between input and output of a small problem, in float64.

    `example` is "bank", "running" or "backward"; or give q, k, v (or x and
    weights) as arrays or lists. The other fields are those of
    docs/explain.md: tokens, causal, scale, row, head, backward, set, ...

        qkv.explain("bank")["stages"]
        qkv.explain("running", causal=True, head=0)
        qkv.explain(q=q, k=k, v=v, tokens=["a", "b", "c"], backward=True)

    Raises ValueError with the core's own message: an unknown field, a shape
    that does not fit.
    """
    request = {name: value for name, value in fields.items() if value is not None}
    if example is not None:
        request["example"] = example
    answer: dict[str, Any] = _with_numbers(json.loads(_core.explain(request_text(request))))
    return Document(answer, request) if answer["kind"] in ("attention", "layer") else answer


def shapes(
    *,
    n: int | None = None,
    c: int | None = None,
    heads: int | None = None,
    kv_heads: int | None = None,
    d: int | None = None,
    dv: int | None = None,
    b: int | None = None,
    t: int | None = None,
    preset: str | None = None,
    found: dict[str, Sequence[int]] | None = None,
) -> dict[str, Any]:
    """The shape of every matrix of an attention layer.

    n tokens, width c, query heads, KV heads, head widths d (q, k) and dv
    (v), batch b, t keys. Presets: "toy", "gpt2_small", "grouped". `found`
    holds shapes that you have, to see which line breaks.

        qkv.shapes(n=5, c=4, heads=2)["lines"]
        qkv.shapes(preset="toy", found={"k": [2, 5]})["broken"]
    """
    given = {"n": n, "C": c, "heads": heads, "kv_heads": kv_heads, "D": d, "Dv": dv, "B": b, "T": t, "preset": preset}
    request: dict[str, Any] = {"op": "shapes", **{name: value for name, value in given.items() if value is not None}}
    if found is not None:
        request["found"] = {name: list(shape) for name, shape in found.items()}
    table: dict[str, Any] = _with_numbers(json.loads(_core.explain(json.dumps(request))))
    return table


def info() -> dict[str, Any]:
    """The version, the SIMD targets here, the one in use, and the threads."""
    return _core.info()


def request_text(request: dict[str, Any]) -> str:
    """A request as the library reads it; its values may be arrays."""
    return json.dumps(_plain(request), allow_nan=False)


def _plain(value: Any) -> Any:
    """Arrays as lists, infinities and NaN as the strings that the library reads."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    elif hasattr(value, "__dlpack__"):
        import numpy

        value = numpy.from_dlpack(value).tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value


def _with_numbers(value: Any, is_number: bool = False) -> Any:
    """The inverse for a document: in its fields that hold numbers, those strings are numbers."""
    if isinstance(value, dict):
        return {name: _with_numbers(entry, is_number or name in _NUMBER_FIELDS) for name, entry in value.items()}
    if isinstance(value, list):
        return [_with_numbers(entry, is_number) for entry in value]
    return _NO_NUMBERS.get(value, value) if is_number and isinstance(value, str) else value
