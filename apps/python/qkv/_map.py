"""The weights of one head at any length: a picture of the whole, any part of it, one row with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Overview:
    """A head's map, a pixel for each step × step weights.

    step       a power of two; pixels at the edges may have fewer weights
    max, mean  [ceil(Tq/step), ceil(Tk/step)] float32: the largest weight
               of each pixel, and the mean of them (hidden: 0)
    lse, entropy, largest    [Tq] float64, of every row: ln of its sum,
               −Σ p ln p, max p
    """

    step: int
    max: Array
    mean: Array
    lse: Array
    entropy: Array
    largest: Array

    def __repr__(self) -> str:
        rows, columns = self.max.shape
        return f"<qkv.Overview of {len(self.lse)} rows in {rows} × {columns} pixels, step {self.step}>"


@dataclass(frozen=True, slots=True, eq=False)
class MapRow:
    """One row of a map, in float64.

    lse, entropy
    allowed    keys that it may see
    sink       what a sink logit takes
    keys, weights, cumulative    by falling weight
    scores     scale · q·k of those keys, before softcap, bias, mask
    products   [keys, D]: scale · q_d k_d, which add up to the scores
    """

    lse: float
    entropy: float
    allowed: int
    sink: float
    keys: Array
    weights: Array
    cumulative: Array
    scores: Array
    products: Array

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}: {weight:.3f}" for key, weight in zip(self.keys[:5], self.weights[:5], strict=True))
        more = ", ..." if len(self.keys) > 5 else ""
        return f"<qkv.MapRow of {self.allowed} keys, entropy {self.entropy:.3f}, {shown}{more}>"


def map_overview(
    q: Any,
    k: Any,
    *,
    head: int = 0,
    batch: int = 0,
    pixels: int = 1024,
    scale: float | None = None,
    causal: bool = False,
    corner: str | None = None,
    offset: int | None = None,
    window: tuple[int, int] | None = None,
    keep: Any = None,
    bias: Any = None,
    key_mask: Any = None,
    key_lengths: Sequence[int] | None = None,
    cu_seqlens_q: Sequence[int] | None = None,
    cu_seqlens_k: Sequence[int] | None = None,
    slopes: Sequence[float] | str | None = None,
    sinks: Sequence[float] | None = None,
    softcap: float | None = None,
    layout: str = "bhtd",
    threads: int | None = None,
    target: str | None = None,
) -> Overview:
    """The whole map of one head, at most `pixels` a side.

        call = qkv.open("capture.safetensors")[3]
        picture = qkv.map_overview(call.q, call.k, head=5, **call.options)
        matplotlib.pyplot.imshow(picture.max)

    q [B,Hq,Tq,D], k [B,Hkv,Tk,D] and the options of `attention`; head
    and batch say which one. Raises as `attention` does.
    Exact but for rounding in float32: a pixel is the maximum and the
    mean of all of its weights. One pass over the scores; nothing of size
    Tq·Tk is made.
    """
    found = _core.map_overview((q, k, batch, head, pixels), (
        scale, softcap, causal, corner, offset, window, keep, bias, key_mask, key_lengths, cu_seqlens_q, cu_seqlens_k,
        slopes, sinks, layout, threads, target))
    return Overview(**found)


def map_tile(
    q: Any,
    k: Any,
    lse: Any,
    *,
    rows: tuple[int, int],
    columns: tuple[int, int],
    step: int = 1,
    head: int = 0,
    batch: int = 0,
    scale: float | None = None,
    causal: bool = False,
    corner: str | None = None,
    offset: int | None = None,
    window: tuple[int, int] | None = None,
    keep: Any = None,
    bias: Any = None,
    key_mask: Any = None,
    key_lengths: Sequence[int] | None = None,
    cu_seqlens_q: Sequence[int] | None = None,
    cu_seqlens_k: Sequence[int] | None = None,
    slopes: Sequence[float] | str | None = None,
    sinks: Sequence[float] | None = None,
    softcap: float | None = None,
    layout: str = "bhtd",
    threads: int | None = None,
    target: str | None = None,
) -> tuple[Array, Array]:
    """(max, mean) of rows [a, b) and columns [a, b) of a map, float32.

        whole = qkv.map_overview(q, k, causal=True)
        max, mean = qkv.map_tile(q, k, whole.lse, rows=(1000, 1256),
                                 columns=(0, 256), causal=True)

    A pixel for each step × step weights. lse [Tq] is `map_overview`'s.
    Other arguments, errors and numerics as there; only the rectangle is
    computed.
    """
    if step < 1:
        raise ValueError(f"map: step is {step}; expected at least 1")
    (top, bottom), (left, right) = rows, columns
    height, width = -(-(bottom - top) // step), -(-(right - left) // step)
    found = _core.map_tile((q, k, batch, head, lse, top, left, step, height, width), (
        scale, softcap, causal, corner, offset, window, keep, bias, key_mask, key_lengths, cu_seqlens_q, cu_seqlens_k,
        slopes, sinks, layout, threads, target))
    return found[0], found[1]


def map_row(
    q: Any,
    k: Any,
    row: int,
    *,
    top: int = 16,
    head: int = 0,
    batch: int = 0,
    scale: float | None = None,
    causal: bool = False,
    corner: str | None = None,
    offset: int | None = None,
    window: tuple[int, int] | None = None,
    keep: Any = None,
    bias: Any = None,
    key_mask: Any = None,
    key_lengths: Sequence[int] | None = None,
    cu_seqlens_q: Sequence[int] | None = None,
    cu_seqlens_k: Sequence[int] | None = None,
    slopes: Sequence[float] | str | None = None,
    sinks: Sequence[float] | None = None,
    softcap: float | None = None,
    layout: str = "bhtd",
) -> MapRow:
    """One row of a map in float64, and the products behind its scores.

        row = qkv.map_row(q, k, 7, top=3, causal=True)
        row.keys, row.weights              its three largest
        row.products.argmax(axis=1)        by which dimension

    Other arguments and errors as in `map_overview`.
    """
    found = _core.map_row((q, k, batch, head, row, top), (
        scale, softcap, causal, corner, offset, window, keep, bias, key_mask, key_lengths, cu_seqlens_q, cu_seqlens_k,
        slopes, sinks, layout, None, None))
    products = np.array(found.pop("products")).reshape(len(found["keys"]), -1)
    return MapRow(**found | {"keys": np.array(found["keys"], dtype=np.int64), "products": products})
