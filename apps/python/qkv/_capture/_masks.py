"""What a mask tensor is: causal, a window, padding, a bias that repeats. Only what is equal is called so.

A model's mask may have Tq·Tk elements. It is read in blocks of rows and nothing of its size is kept: `describe` gives
compact terms that stand for exactly the same keys, or the mask itself, cut down to the axes along which it differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ._fields import CaptureError

_BLOCK = 1 << 20  # elements of a mask that are looked at together


@dataclass(frozen=True)
class Band:
    """Keys j of query i with least ≤ j − i ≤ most; None: open on that side."""

    least: int | None = None
    most: int | None = None

    def window(self, offset: int) -> tuple[int, int] | None:
        """(left, right) that say the same of a query 0 at `offset`; None if they cannot, being 0 or more."""
        left = -1 if self.least is None else offset - self.least
        right = -1 if self.most is None else self.most - offset
        return (left, right) if (self.least is None or left >= 0) and (self.most is None or right >= 0) else None

    def holds(self, rows: range, keys: int, device: torch.device) -> Tensor:
        distance = (torch.arange(keys, dtype=torch.int32, device=device)[None, :]
                    - torch.arange(rows.start, rows.stop, dtype=torch.int32, device=device)[:, None])
        inside = torch.ones_like(distance, dtype=torch.bool)
        if self.least is not None:
            inside &= distance >= self.least
        if self.most is not None:
            inside &= distance <= self.most
        return inside


@dataclass(frozen=True)
class Mask:
    """A mask in its smallest form: the conjunction of what is there. Tensors are [B or 1, H or 1, Tq or 1, Tk or 1]."""

    band: Band = Band()
    key_mask: Tensor | None = None  # [B or 1, Tk], true = may be seen
    keep: Tensor | None = None
    bias: Tensor | None = None
    slopes: tuple[Tensor, int] | None = None  # ([H], offset): −slope·|i + offset − j| is added
    finite: bool = False  # hides by a large finite number: a row that sees no key is then no row of zeros


def describe(keep: Tensor | None, bias: Tensor | None, shape: tuple[int, int], score_bound: float,
             most_bytes: int) -> Mask:
    """The terms of a boolean mask and a floating one, each with 4 axes or None; shape is (Tq, Tk).

    score_bound is what no |score| exceeds: a number added to a score hides its key if exp() of the difference to any
    other key's score is 0 in float64. Raises CaptureError for what has no compact form and more than most_bytes.
    """
    found = Mask()
    if bias is not None:
        bias = reduced(bias)
        visible = _Visible(bias, _threshold(bias, score_bound), most_bytes)
        found = _structure(visible, shape)
        found = replace(found, finite=visible.finite, **_residual(visible, shape, found.band))
    if keep is not None:
        found = _both(found, _structure(_Visible(reduced(keep), None, most_bytes), shape))
    return found


def reduced(tensor: Tensor) -> Tensor:
    """With extent 1 along every axis where all slices are equal."""
    for axis in range(tensor.ndim):
        first = tensor.narrow(axis, 0, 1) if tensor.shape[axis] > 1 else None
        if first is not None and all(torch.equal(tensor.narrow(axis, i, 1), first)
                                     for i in ([] if tensor.stride(axis) == 0 else range(1, tensor.shape[axis]))):
            tensor = first
    return tensor


class _Visible:
    """Which keys a mask lets through, a block of rows at a time."""

    def __init__(self, mask: Tensor, threshold: float | None, most_bytes: int) -> None:
        self.mask, self.threshold, self.most_bytes = mask, threshold, most_bytes
        self.finite = threshold is not None and any(
            bool(((block <= threshold) & (block > -torch.inf)).any()) for _, block in self._blocks(mask))

    @staticmethod
    def _blocks(mask: Tensor) -> Iterator[tuple[range, Tensor]]:
        rows = max(1, _BLOCK // max(1, mask.shape[0] * mask.shape[1] * mask.shape[3]))
        for start in range(0, mask.shape[2], rows):
            yield range(start, min(start + rows, mask.shape[2])), mask[:, :, start:start + rows]

    def blocks(self) -> Iterator[tuple[range, Tensor, Tensor]]:
        """(rows, [B,H,rows,Tk] of the mask, the same as true = may be seen)"""
        for rows, block in self._blocks(self.mask):
            yield rows, block, block if self.threshold is None else block > self.threshold

    def keep(self) -> Tensor:
        self._expect_small("mask", 1)
        return self.mask.clone() if self.threshold is None else self.mask > self.threshold

    def bias(self) -> Tensor:
        """With 0 where no key is seen."""
        self._expect_small("bias", self.mask.element_size())
        hidden = torch.zeros((), dtype=self.mask.dtype, device=self.mask.device)
        return hidden if self.threshold is None else torch.where(self.mask > self.threshold, self.mask, hidden)

    def _expect_small(self, what: str, width: int) -> None:
        size = self.mask.numel() * width
        if size > self.most_bytes:
            raise CaptureError(
                f"its {what} {list(self.mask.shape)} is none of causal, window, padding and ALiBi, and as it is takes "
                f"{size / 2**20:.0f} MiB where {self.most_bytes / 2**20:.0f} are allowed: give fewer tokens, or "
                f"mask_bytes={size} if that much in the file for this call is all right")


def _threshold(bias: Tensor, score_bound: float) -> float:
    """What hides is at most this, and what is a bias above it; −inf if no finite number hides, or not certainly."""
    least = -(2 * score_bound + 750)  # exp(-746) is 0 in float64
    largest_hidden, largest_bias, hides = -torch.inf, 0.0, False
    for _, block in _Visible._blocks(bias):
        hidden = block <= least
        if bool(hidden.any()):
            hides = True
            largest_hidden = max(largest_hidden, float(block[hidden].max()))
        seen = block[~hidden]
        if seen.numel():
            largest_bias = max(largest_bias, float(seen.abs().max()))
    return largest_hidden if hides and largest_hidden <= least - 2 * largest_bias else -torch.inf


def _structure(visible: _Visible, shape: tuple[int, int]) -> Mask:
    """Band and padding where they are exactly what the mask says; else keep."""
    mask = visible.mask
    if all(bool(seen.all()) for _, _, seen in visible.blocks()):
        return Mask()
    if any(bool((seen != seen[:, :1]).any()) for _, _, seen in visible.blocks()):  # not the same for all heads
        return Mask(keep=visible.keep())
    if mask.shape[2] == 1 and shape[0] > 1:  # the same for every query
        (_, _, seen), = visible.blocks()
        return Mask(keep=visible.keep()) if mask.shape[3] == 1 else Mask(key_mask=seen[:, 0, 0])
    queries, keys = shape
    ever = torch.zeros(mask.shape[0], keys, dtype=torch.bool, device=mask.device)
    least, most = keys, -queries
    for rows, _, seen in visible.blocks():
        seen = seen[:, 0].expand(-1, -1, keys)
        ever |= seen.any(1)
        index = torch.arange(rows.start, rows.stop, device=mask.device)
        some = seen.any(2)
        if bool(some.any()):
            first = seen.to(torch.uint8).argmax(2)
            last = keys - 1 - seen.flip(2).to(torch.uint8).argmax(2)
            least = min(least, int((first - index)[some].min()))
            most = max(most, int((last - index)[some].max()))
    if least > most:  # no row sees any key
        return Mask(key_mask=ever)
    alone, padded = True, True
    for rows, _, seen in visible.blocks():
        band = Band(least, most).holds(rows, keys, mask.device)[None]
        seen = seen[:, 0].expand(-1, -1, keys)
        alone = alone and bool((seen == band).all())
        padded = padded and bool((seen == (band & ever[:, None])).all())
    if alone and not (queries == 1 and least > 0):  # one row that begins late: padding on the left
        return Mask(_binding(least, most, queries, range(keys)))
    if padded:
        columns = ever.any(0).nonzero().flatten()
        return Mask(_binding(least, most, queries, range(int(columns[0]), int(columns[-1]) + 1)), key_mask=ever)
    return Mask(keep=visible.keep())


def _binding(least: int, most: int, queries: int, keys: range) -> Band:
    """Without the sides that hide none of those keys."""
    return Band(least if keys.start - (queries - 1) < least else None, most if keys.stop - 1 > most else None)


def _residual(visible: _Visible, shape: tuple[int, int], band: Band) -> dict[str, Any]:
    """What a floating mask adds to keys that are seen: nothing, a number a key, ALiBi's slopes, or the bias itself."""
    mask = visible.mask
    a_key = torch.zeros(*mask.shape[:2], mask.shape[3], dtype=mask.dtype, device=mask.device)
    known = torch.zeros_like(a_key, dtype=torch.bool)
    same_for_all_rows = True
    for _, block, seen in visible.blocks():
        new = seen.any(2) & ~known
        a_key = torch.where(new, block.gather(2, seen.to(torch.uint8).argmax(2, keepdim=True))[:, :, 0], a_key)
        known |= new
        same_for_all_rows = same_for_all_rows and bool(((block == a_key[:, :, None]) | ~seen).all())
    if same_for_all_rows:
        return {"bias": reduced(a_key[:, :, None])} if bool((a_key != 0).any()) else {}
    for offset in dict.fromkeys((0, shape[1] - shape[0])):
        slopes = None if band.window(offset) is None else _slopes(visible, shape, offset)
        if slopes is not None:
            return {"slopes": (slopes, offset)}
    return {"bias": visible.bias()}


def _slopes(visible: _Visible, shape: tuple[int, int], offset: int) -> Tensor | None:
    """[H] if the bias is −slope·|i + offset − j| to the rounding of float32 for every key that is seen."""
    mask = visible.mask
    if mask.shape[0] != 1 or tuple(mask.shape[2:]) != shape or torch.finfo(mask.dtype).eps > 1e-6:
        return None

    def distances(rows: range) -> Tensor:
        keys = torch.arange(shape[1], device=mask.device)[None, :]
        return (torch.arange(rows.start, rows.stop, device=mask.device)[:, None] + offset - keys).abs().double()

    slopes = torch.zeros(mask.shape[1], dtype=torch.float64, device=mask.device)
    farthest = torch.zeros_like(slopes)
    for rows, block, seen in visible.blocks():  # the slope is told best by the farthest key
        reach, at = (distances(rows) * seen[0]).flatten(1).max(1)
        slope = -block[0].flatten(1).gather(1, at[:, None])[:, 0].double() / reach.clamp(min=1)
        slopes = torch.where(reach > farthest, slope, slopes)
        farthest = torch.maximum(farthest, reach)
    slopes = slopes.float()
    for rows, block, seen in visible.blocks():
        off = (block[0].double() + slopes.double()[:, None, None] * distances(rows)).abs()
        if bool((seen[0] & ~(off <= (4e-7 * slopes.abs() * farthest)[:, None, None])).any()):
            return None
    return slopes


def _both(one: Mask, other: Mask) -> Mask:
    """Both at once; what cannot be said compactly together stays a mask of its own."""
    keep = one.keep if other.keep is None else other.keep if one.keep is None else one.keep & other.keep
    key_mask = (one.key_mask if other.key_mask is None else other.key_mask if one.key_mask is None
                else one.key_mask & other.key_mask)
    sides = [[side for side in pair if side is not None] for pair in
             ((one.band.least, other.band.least), (one.band.most, other.band.most))]
    band = Band(max(sides[0], default=None), min(sides[1], default=None))
    return Mask(band, key_mask, keep, one.bias, one.slopes, one.finite)
