"""What qkv.trace returns: the stages by name, and how they show themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import as_float64
from ._explain import request_text
from ._show import Shown


class Trace(Shown, dict[str, Any]):
    """Every stage of one `qkv.trace`, in float64: a dict of arrays by name.

    Printed it is a text: shapes, and the first rows of the first head. In a
    notebook it is the explorer's panel of any batch entry and head, if
    anywidget is installed and one head has at most 500,000 numbers.
    """

    def __init__(self, stages: dict[str, Any], options: dict[str, Any]) -> None:
        super().__init__(stages)
        self._options = {name: _kept(value) for name, value in options.items() if value is not None}

    def _sizes(self) -> tuple[int, int]:
        batches, heads = self["q"].shape[:2]
        return batches, heads

    def _place(self) -> tuple[int, int]:
        return 0, 0

    def _numbers(self) -> int:
        return sum(math.prod(stage.shape[2:]) for stage in self.values())

    def _document(self, batch: int, head: int) -> str:
        return _core.explain(request_text(self._request(batch, head)))

    def _title(self) -> str:
        return "attention in float64"

    def _stages(self) -> list[tuple[str, Sequence[int]]]:
        return [(name, stage.shape) for name, stage in self.items()]

    def _matrix(self, name: str) -> np.ndarray[Any, Any] | None:
        stage = self.get(name)
        if stage is None or 0 in stage.shape:
            return None
        found: np.ndarray[Any, Any] = stage[0, 0]
        return found

    def _request(self, batch: int, head: int) -> dict[str, Any]:
        """One head as a problem of its own, by the fields of docs/explain.md."""
        given = self._options
        heads, queries = self["q"].shape[1:3]
        kv_heads, keys = self["k"].shape[1:3]
        kv_head = head // (heads // kv_heads)
        fields = {"q": self["q"][batch, head], "k": self["k"][batch, kv_head], "v": self["v"][batch, kv_head]}
        fields |= {name: given[name] for name in ("scale", "softcap") if name in given}
        lists = ("window", "cu_seqlens_q", "cu_seqlens_k")
        fields |= {name: [int(entry) for entry in given[name]] for name in lists if name in given}
        corner = given.get("corner", f"offset:{given['offset']}" if "offset" in given else None)
        if given.get("causal"):
            fields["causal"] = corner or True
        elif corner:
            fields["corner"] = corner
        for name in ("keep", "bias"):
            if name in given:
                of_all = np.broadcast_to(given[name], (self["q"].shape[0], heads, queries, keys))
                fields[name] = of_all[batch, head].astype(bool) if name == "keep" else of_all[batch, head]
        if "key_mask" in given:
            fields["key_mask"] = np.atleast_2d(given["key_mask"])[batch:batch + 1].astype(bool)
        if "key_lengths" in given:
            fields["key_lengths"] = [int(given["key_lengths"][batch])]
        if "slopes" in given:
            slopes = _core.alibi_slopes(heads) if isinstance(given["slopes"], str) else given["slopes"]
            fields["slopes"] = [slopes[head]]
        if "sinks" in given:
            fields["sinks"] = [given["sinks"][head]]
        return fields


def _kept(value: Any) -> Any:
    """A copy of an option: what its owner writes into it later is not what was traced. Arrays as float64."""
    if isinstance(value, (str, int, float)):
        return value
    return list(value) if isinstance(value, (list, tuple)) else np.array(as_float64(value))
