"""Attention in PyTorch's own operations, scores written out, of which second derivatives in qkv.torch.use() are taken.

Inputs are those of the operator qkv::attention. Only what `sdpa` and transformers' calls can ask for is here.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from . import _operator


def attention(q: Tensor, k: Tensor, v: Tensor, *options: Any) -> Tensor:
    """o [B,Hq,Tq,Dv]. Raises NotImplementedError for an option that is not here."""
    given = dict(zip(_operator.OPTIONS, options))
    for name in ("key_lengths", "cu_seqlens_q", "cu_seqlens_k", "slopes"):
        if given[name] is not None or given["alibi"]:
            raise NotImplementedError(name)
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    s = q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1]) if given["scale"] is None else given["scale"])
    if given["softcap"] is not None:
        s = given["softcap"] * torch.tanh(s / given["softcap"])
    if given["bias"] is not None:
        s = s + given["bias"]
    seen = _seen(q.shape[2], k.shape[2], given)
    s = s.masked_fill(~seen, -torch.inf)
    if given["sinks"] is not None:
        s = torch.cat((s, given["sinks"].to(s.dtype)[None, :, None, None].expand(*s.shape[:3], 1)), -1)
    empty = s.isneginf().all(-1, keepdim=True)
    p = torch.softmax(s.masked_fill(empty, 0), -1)[..., :k.shape[2]].masked_fill(empty, 0)
    return p.to(v.dtype) @ v


def second_derivative(d_o: Tensor, tensors: tuple[Tensor | None, ...], others: tuple[Any, ...], wanted: str,
                      gradients: tuple[Tensor | None, ...]) -> list[Tensor | None]:
    """What `gradients`, of the gradients that `wanted` names, give d_o, q, k, v, bias and sinks, `tensors`' first."""
    with torch.enable_grad():
        leaves = [None if x is None else x.detach().requires_grad_(x.is_floating_point()) for x in (d_o, *tensors)]
        of = dict(zip(_operator.GRADIENTS, leaves[1:]))
        o = attention(*leaves[1:], *others)
        first = torch.autograd.grad(o, [of[name] for name in wanted.split(",")], leaves[0], create_graph=True)
        asked = [(one, gradient) for one, gradient in zip(first, gradients) if gradient is not None]
        inputs = [x for x in leaves[:6] if x is not None]
        found = iter(torch.autograd.grad([one for one, _ in asked], inputs, [gradient for _, gradient in asked],
                                         allow_unused=True))
    return [None if x is None else next(found) for x in leaves[:6]]


def _seen(queries: int, keys: int, given: dict[str, Any]) -> Tensor:
    """Which keys may be seen, as booleans that broadcast to [B,H,Tq,Tk]."""
    offset = {"top_left": 0, "bottom_right": keys - queries}.get(given["corner"], given["offset"] or 0)
    distance = torch.arange(keys) - torch.arange(queries)[:, None] - offset
    seen = (distance <= 0) if given["causal"] else torch.ones_like(distance, dtype=torch.bool)
    left, right = (-1, -1) if given["window"] is None else given["window"]
    seen = seen & ((distance >= -left) if left >= 0 else True) & ((distance <= right) if right >= 0 else True)
    if given["key_mask"] is not None:
        seen = seen & given["key_mask"][:, None, None, :]
    return seen if given["keep"] is None else seen & given["keep"]
