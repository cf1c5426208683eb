"""Attention, done properly: exact, fast on a CPU, and every number on the way can be seen.

    o = qkv.attention(q, k, v, causal=True)        arrays in, array out
    d = qkv.explain("bank")                        every stage of a small example, as a dict
    t = qkv.shapes(n=5, c=4, heads=2)              the shape of every matrix
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from . import _core
from ._core import __version__

__all__ = ["__version__", "attention", "explain", "info", "shapes"]

# JSON has no infinities and no NaN; the library writes them as these strings.
_NO_NUMBERS = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
_NUMBER_FIELDS = {"values", "before", "after", "slopes", "sinks"}


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
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
    return_lse: bool = False,
    threads: int | None = None,
    target: str | None = None,
    out: Any = None,
) -> Any:
    """Exact attention: o = softmax(scale q kᵀ + ...) v for every batch entry and head.

    Shapes: q [B,Hq,Tq,D], k [B,Hkv,Tk,D], v [B,Hkv,Tk,Dv], o [B,Hq,Tq,Dv]; [H,T,D] and [T,D] are accepted too. With
    layout="bthd" the axes are [B,T,H,D] or [T,H,D]. Query head h reads KV head h // (Hq // Hkv).
    Types: float64, float32, float16, and bfloat16 (ml_dtypes, or any library by DLPack), the same for q, k and v.

    scale         factor of the scores; 1/sqrt(D) if not given
    causal        see no later key; where Tq and Tk differ, `corner` or `offset` must say where query 0 stands
    corner        "top_left" (PyTorch) or "bottom_right" (FlashAttention, decode)
    offset        position of query 0 among the keys, instead of a corner
    window        (left, right): keys from that many before to that many after; -1 leaves a side open
    keep          boolean mask, True = may be seen; broadcasts to [B,Hq,Tq,Tk]
    bias          added to the scores; broadcasts to [B,Hq,Tq,Tk]; -inf hides a key
    key_mask      boolean mask [B,Tk], True = may be seen
    key_lengths   how many keys of each batch entry exist
    cu_seqlens_q, cu_seqlens_k    packed sequences in a batch of 1: where each starts, and the end
    slopes        ALiBi slopes, one a query head, or "alibi" for the paper's
    sinks         one logit a query head that joins the softmax's sum and carries no value
    softcap       scores become softcap * tanh(scores / softcap)
    return_lse    return (o, lse); lse [B,Hq,Tq] is the logarithm of each row's sum, float32 (float64 for float64)
    threads       None: as many as the machine gives this process; the result has the same bits for any number
    target        "avx512", "avx512bf16", "avx2", "neon" or "portable"; None: the best that the machine has
    out           an array to write o to, of o's shape and type (float32 too for half types); it is returned

    An array of the library that q came from is returned. A row whose keys are all hidden gives 0, and lse -inf.
    Raises ValueError for shapes and options that do not fit (the message names the line of the shape table that broke)
    and TypeError for what is no array or no number.
    """
    named = {
        "scale": scale,
        "causal": causal,
        "corner": corner,
        "offset": offset,
        "window": window,
        "keep": keep,
        "bias": bias,
        "key_mask": key_mask,
        "key_lengths": key_lengths,
        "cu_seqlens_q": cu_seqlens_q,
        "cu_seqlens_k": cu_seqlens_k,
        "slopes": slopes,
        "sinks": sinks,
        "softcap": softcap,
        "layout": layout,
        "return_lse": return_lse,
        "threads": threads,
        "target": target,
        "out": out,
    }
    return _core.attention(q, k, v, named)


def explain(example: str | None = None, /, **fields: Any) -> dict[str, Any]:
    """Every number between the input and the output of a small problem, in float64.

    `example` is "bank", "running" or "backward"; or give q, k, v (or x and weights) as arrays or lists. The other
    fields are those of docs/explain.md: tokens, causal, scale, row, head, backward, set, ...

        qkv.explain("bank")["stages"]
        qkv.explain("running", causal=True, head=0)
        qkv.explain(q=q, k=k, v=v, tokens=["a", "b", "c"], backward=True)

    Raises ValueError with the core's own message: an unknown field, a shape that does not fit.
    """
    request = {name: _plain(value) for name, value in fields.items() if value is not None}
    if example is not None:
        request["example"] = example
    return _with_numbers(json.loads(_core.explain(json.dumps(request, allow_nan=False))))


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
    """The shape of every matrix of an attention layer; `found` holds shapes that you have, to see which line breaks.

    n tokens, width c, query heads, KV heads, head widths d (q, k) and dv (v), batch b, t keys. Presets: "toy",
    "gpt2_small", "grouped".

        qkv.shapes(n=5, c=4, heads=2)["lines"]
        qkv.shapes(preset="toy", found={"k": [2, 5]})["broken"]
    """
    given = {"n": n, "C": c, "heads": heads, "kv_heads": kv_heads, "D": d, "Dv": dv, "B": b, "T": t, "preset": preset}
    request = {"op": "shapes", **{name: value for name, value in given.items() if value is not None}}
    if found is not None:
        request["found"] = {name: list(shape) for name, shape in found.items()}
    return _with_numbers(json.loads(_core.explain(json.dumps(request))))


def info() -> dict[str, Any]:
    """The version, the SIMD targets that this machine can run, the one in use, and the number of threads."""
    return _core.info()


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
