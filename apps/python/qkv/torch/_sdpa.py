"""qkv.torch.sdpa: torch.nn.functional.scaled_dot_product_attention, computed by qkv."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention as of_pytorch

from . import _attention, _compact
from ._operator import DTYPES


def sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """torch.nn.functional.scaled_dot_product_attention, by qkv.

    Its signature, its meaning, its errors: query [...,Hq,L,E], key
    [...,H,S,E], value [...,H,S,Ev], output [...,Hq,L,Ev], where leading
    axes broadcast. is_causal has its corner at the top left; in a boolean
    mask True keeps; a floating mask is added and has a gradient. Grouped
    heads need enable_gqa. A row that sees no key is 0.

    What PyTorch refuses raises what PyTorch raises, and tensors without
    elements are computed by it. Raises NotImplementedError for
    dropout_p > 0, which qkv does not have, and TypeError for tensors
    outside the CPU's memory.
    Numerics: `qkv.attention`. Source: PyTorch 2.15,
    aten/src/ATen/native/transformers/attention.cpp.
    """
    if 0 < dropout_p <= 1:
        raise NotImplementedError(f"dropout_p is {dropout_p}; qkv has no dropout: call it with dropout_p=0.0")
    query, key, value, attn_mask = _attention.in_autocast_type(query, key, value, attn_mask)
    found = _arrange(query, key, value, attn_mask, is_causal, enable_gqa) if dropout_p == 0 else None
    if found is None:
        return of_pytorch(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    o = _attention.attention(found.query, found.key, found.value, scale=scale, **found.options)
    assert isinstance(o, Tensor)
    return o.reshape(found.shape)


class _Arranged(NamedTuple):
    """The tensors as [B,H,T,D], what hides keys as options of `attention`, and the shape of the output."""

    query: Tensor
    key: Tensor
    value: Tensor
    options: dict[str, Any]
    shape: tuple[int, ...]


def _arrange(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool,
             enable_gqa: bool) -> _Arranged | None:
    """None for what PyTorch refuses, and for tensors without elements."""
    tensors = (query, key, value)
    if not all(isinstance(x, Tensor) and x.dtype == query.dtype and x.ndim >= 2 and x.numel() > 0 for x in tensors):
        return None
    if query.dtype not in DTYPES or query.shape[-1] != key.shape[-1]:
        return None
    if key.shape[-2] != value.shape[-2]:  # PyTorch's fused CPU kernel would read past the shorter one
        raise RuntimeError(f"key has {key.shape[-2]} tokens and value {value.shape[-2]}; expected the same")
    if enable_gqa:
        grouped = _grouped(*tensors)
        if grouped is None:
            return None
        query, key, value = grouped
    axes = 3 if enable_gqa else 2  # the last ones, that do not broadcast
    of_scores = _broadcast(query.shape[:-axes], key.shape[:-axes])
    leading = None if of_scores is None else _broadcast(of_scores, value.shape[:-axes])
    if of_scores is None or leading is None:
        return None
    scores = (*of_scores, *query.shape[-axes:-1], key.shape[-2])
    shape = (*leading, *query.shape[-axes:-1], value.shape[-1])
    if mask is not None:
        if is_causal or mask.dtype not in (torch.bool, torch.float32, query.dtype) or mask.numel() == 0:
            return None
        if query.ndim == 3 and mask.ndim == 4 and mask.shape[0] == 1:
            mask = mask[0]
        if not 2 <= mask.ndim <= len(scores) or any(n not in (1, m) for n, m in zip(mask.shape[::-1], scores[::-1])):
            return None
    query, key, value = (_with_four_axes(x, leading, shape) for x in (query, key, value))
    options: dict[str, Any] = {"causal": True, "corner": "top_left"} if is_causal else {}
    if mask is not None:
        compact = _compact.options_of(mask, query.shape[0], *scores[-2:]) if len(shape) <= 4 else None
        mask = _with_four_axes(mask, None, (*shape[:-1], key.shape[-2]))
        options = {"keep" if mask.dtype == torch.bool else "bias": mask} if compact is None else compact
    return _Arranged(query, key, value, options, shape)


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | None:
    if one == other:  # nearly always; torch.broadcast_shapes takes as long as a small attention
        return one
    try:
        return torch.broadcast_shapes(one, other)
    except RuntimeError:
        return None


def _grouped(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """With as many heads in key as in value; None where they do not divide those of query."""
    if min(query.ndim, key.ndim, value.ndim) < 3:
        return None
    heads, of_key, of_value = (x.shape[-3] for x in (query, key, value))
    if heads % of_key or heads % of_value:
        return None
    if of_key != of_value:
        both = math.lcm(of_key, of_value)
        key, value = (x.repeat_interleave(both // x.shape[-3], -3) for x in (key, value))
    return query, key, value


def _with_four_axes(x: Tensor, leading: tuple[int, ...] | None, shape: tuple[int, ...]) -> Tensor:
    """As [B,H,T,D], of as many axes as `shape`: expanded to the `leading` ones, or a mask, whose axes may stay 1."""
    if x.ndim == 4 == len(shape) and leading in (None, x.shape[:len(leading or ())]):
        return x
    if leading is not None:
        x = x.expand(*leading, *x.shape[len(leading) - len(shape):])
    x = x[(None,) * (max(len(shape), 4) - x.ndim)]
    if x.ndim > 4:
        if leading is None and any(n != 1 for n in x.shape[:-3]):
            x = x.expand(*shape[:-3], *x.shape[-3:])
        x = x.flatten(0, -4)
    return x
