"""A call's terms in the smallest form that means the same, as options of `qkv.attention`; and its heads, each once."""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ._fields import CaptureError
from ._masks import Band, Mask, describe


@dataclass(frozen=True)
class Terms:
    """What a call computes. keep and bias have 4 axes, 1 where they repeat; key_mask [B,Tk], slopes [H], sinks [H]."""

    scale: float
    softcap: float | None = None
    causal: bool = False
    corner: str | None = None
    offset: int | None = None
    window: tuple[int, int] | None = None
    keep: Tensor | None = None
    bias: Tensor | None = None
    key_mask: Tensor | None = None
    slopes: Tensor | None = None
    sinks: Tensor | None = None
    finite: bool = False  # the mask hides by a finite number, so that a row that sees no key is not 0

    @property
    def kinds(self) -> str:
        names = {"causal": self.causal, "window": self.window is not None, "padding": self.key_mask is not None,
                 "dense": self.keep is not None}
        return "+".join(name for name, there in names.items() if there) or "none"

    def of_heads(self, heads: list[int]) -> Terms:
        """Of these heads, by their places."""

        def picked(tensor: Tensor | None, axis: int) -> Tensor | None:
            if tensor is None or (axis == 1 and tensor.shape[1] == 1):
                return tensor
            return tensor.index_select(axis, torch.tensor(heads, device=tensor.device))

        return replace(self, keep=picked(self.keep, 1), bias=picked(self.bias, 1), slopes=picked(self.slopes, 0),
                       sinks=picked(self.sinks, 0))

    def options_of_row(self, row: int) -> dict[str, Any]:
        """Arguments of qkv.attention for this one query, as if it were the only one."""
        options: dict[str, Any] = {"scale": self.scale, "softcap": self.softcap, "causal": self.causal,
                                   "window": self.window}
        if self.offset is not None:
            options["offset"] = self.offset + row
        for name, tensor in (("keep", self.keep), ("bias", self.bias)):
            if tensor is not None:
                part = tensor if tensor.shape[2] == 1 else tensor[:, :, row:row + 1]
                options[name] = (part if name == "keep" else part.double()).cpu().numpy()
        for name, tensor in (("key_mask", self.key_mask), ("slopes", self.slopes), ("sinks", self.sinks)):
            if tensor is not None:
                options[name] = tensor.cpu().numpy()
        return options


class Masks:
    """Describes masks; a model gives one tensor to all of its layers, which is looked at once and not kept alive."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._described: list[tuple[Any, tuple[Any, ...], Mask]] = []

    def describe(self, given: tuple[Any, ...], keep: Tensor | None, bias: Tensor | None, shape: tuple[int, int],
                 bound: float) -> Mask:
        """`given` are the model's own tensors, of which keep and bias are views or sums."""
        bound = max(1024.0, 2.0 ** math.ceil(math.log2(max(bound, 1)))) if math.isfinite(bound) else math.inf
        if any(x is not None and x.is_inference() for x in given):  # has no version: a change of it is not seen
            return describe(keep, bias, shape, bound, self.most_bytes)
        key = (shape, bound, *(None if x is None else (x._version, x.shape, x.stride()) for x in given))
        for known, tensors, mask in self._described:
            if known == key and all(other is x if x is None else other() is x for other, x in zip(tensors, given)):
                return mask
        mask = describe(keep, bias, shape, bound, self.most_bytes)
        alive = tuple(None if x is None else weakref.ref(x) for x in given)
        self._described = [*self._described[-3:], (key, alive, mask)]
        return mask


def compact(query: Tensor, key: Tensor, options: dict[str, Any], given: tuple[Any, ...], masks: Masks,
            sliding_window: int | None) -> Terms:
    """The terms of a call whose options are those of qkv.torch.attention, with a mask of four axes."""
    queries, keys = query.shape[2], key.shape[2]
    scale = options.get("scale")
    scale = 1 / math.sqrt(query.shape[3]) if scale is None else float(scale)
    softcap, sinks = options.get("softcap"), options.get("sinks")
    mask = masks.describe(given, options.get("keep"), options.get("bias"), (queries, keys), _bound(query, key, scale))
    terms = Terms(scale, None if softcap is None else float(softcap), keep=mask.keep, bias=mask.bias,
                  sinks=None if sinks is None else sinks.detach().float(), finite=mask.finite,
                  **_positions(mask, queries, keys))
    if options.get("causal"):
        corner = options["corner"]
        offset = 0 if corner == "top_left" else keys - queries
        if terms.offset not in (None, offset) or terms.window is not None:
            raise CaptureError("is causal by a flag and has a mask with another corner")
        terms = replace(terms, causal=True, corner=corner, offset=offset)
    if mask.key_mask is not None:
        if terms.window is None and queries == 1 and sliding_window is not None:
            terms = _window_of_one_row(terms, mask.key_mask, sliding_window)
        else:
            terms = replace(terms, key_mask=mask.key_mask.expand(query.shape[0], -1))
    if mask.slopes is not None:
        terms = replace(terms, slopes=mask.slopes[0].expand(query.shape[1]))
    return terms


def _bound(query: Tensor, key: Tensor, scale: float) -> float:
    """No |score| before the softcap, which makes it smaller, exceeds this."""
    if query.numel() == 0 or key.numel() == 0:
        return 0.0
    return abs(scale) * float(query.float().norm(dim=-1).max()) * float(key.float().norm(dim=-1).max())


def _positions(mask: Mask, queries: int, keys: int) -> dict[str, Any]:
    """Causal, offset and window of a band; the corner is the one that makes it causal, symmetric, or the newest key."""
    band = mask.band
    if band == Band():
        return {} if mask.slopes is None else {"offset": mask.slopes[1]}
    natural = keys - queries if keys >= queries else 0
    if mask.slopes is not None:
        offset = mask.slopes[1]
    elif band.most is None:
        assert band.least is not None
        offset = max(natural, band.least)
    else:
        symmetric = [at for at in (natural, 0) if (sides := band.window(at)) is not None and sides[0] == sides[1] > 0]
        offset = symmetric[0] if symmetric else band.most
    window = band.window(offset)
    if window is None:
        raise CaptureError(f"has ALiBi slopes from position {offset}, which its mask {band} does not count from")
    if window[1] == 0:
        return {"causal": True, "offset": offset, "window": None if window[0] < 0 else window}
    return {"offset": offset, "window": window}


def _window_of_one_row(terms: Terms, key_mask: Tensor, sliding_window: int) -> Terms:
    """A decode step whose cache reaches further back than the model's window."""
    keys = key_mask.shape[1]
    window = torch.arange(keys, device=key_mask.device) >= keys - sliding_window
    if bool((key_mask == window).all()):
        return replace(terms, window=(sliding_window - 1, 0), causal=True, offset=keys - 1)
    return replace(terms, key_mask=key_mask)
