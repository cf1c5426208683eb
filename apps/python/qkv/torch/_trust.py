"""Whether a model's own "eager" function computes no more than its arguments say: a few rows of its first call tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

ROWS = 8
_known: dict[tuple[Callable[..., Any], type], str | None] = {}


def distrust(eager: Callable[..., Any], module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor,
             mask: Tensor | None, given: Mapping[str, Any], o: Tensor) -> str | None:
    """Why qkv's o [B,H,T,D] must not stand in for eager(module, query, ...), or None. Asked once a function and module.

    Such a function is the model's own code, and may read a term off its module that no argument shows.
    """
    which = (eager, type(module))
    if which not in _known:
        if torch.compiler.is_compiling():
            return None
        _known[which] = _compare(eager, module, query, key, value, mask, given, o)
    return _known[which]


@torch.no_grad()
def _compare(eager: Callable[..., Any], module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor,
             mask: Tensor | None, given: Mapping[str, Any], o: Tensor) -> str | None:
    def last_rows(x: Any) -> Any:
        return x[..., -ROWS:, :] if isinstance(x, Tensor) and x.ndim > 1 and x.shape[-2] == query.shape[-2] else x

    bias = {name: last_rows(x) for name, x in given.items() if name == "position_bias"}
    want = eager(module, last_rows(query), key, value, last_rows(mask), **{**given, **bias})[0].transpose(1, 2)
    difference = torch.nan_to_num((want - last_rows(o)).abs()).max().item()  # NaN: a row that sees no key, here 0
    if difference <= torch.finfo(o.dtype).eps ** 0.5 / 4 * value.abs().max().item():
        return None
    return (f"{eager.__module__}.{eager.__qualname__} computes something that its arguments do not show: it differs "
            f"from attention by {difference:.1e}")
