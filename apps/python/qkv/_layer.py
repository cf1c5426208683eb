"""A whole attention layer, its gradient, and the layer around a cache: signatures and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core
from ._attention import KeyValueCache, fields_of


def layer(
    x: Any,
    parameters: dict[str, Any],
    *,
    query_heads: int,
    kv_heads: int | None = None,
    norm: str = "layernorm",
    eps: float = 1e-5,
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
    return_kept: bool = False,
    threads: int | None = None,
    target: str | None = None,
    out: Any = None,
) -> Any:
    """One attention layer, from its norm to its output projection.

        y = merge(attention(u wq + bq, u wk + bk, u wv + bv)) wo + bo
        u = norm(x)

    Shapes: x [B,T,C] or [T,C]; y [B,T,Cout], or [B,T,Hq*Dv] without wo.
    Types as in `attention`, one for x and the parameters (gamma and beta
    may be float32 beside a half type).

    parameters    a dict of arrays. gamma, beta [C]; wq [C,Hq*D], wk
                  [C,Hkv*D], wv [C,Hkv*Dv]; bq, bk, bv as wide as their
                  matrix; or one fused wqkv [C,(Hq+2*Hkv)*D] with bqkv; wo
                  [Hq*Dv,Cout], bo [Cout]. Absent: gamma means 1, beta and
                  every bias 0, wo no output projection
    query_heads   Hq
    kv_heads      Hkv; Hq if not given
    norm          "layernorm": (x - mean) / sqrt(var + eps) * gamma + beta;
                  "none": x as it is
    eps           not negative
    scale, causal, corner, offset, window, keep, bias, key_mask,
    key_lengths, cu_seqlens_q, cu_seqlens_k, slopes, sinks, softcap
                  as in `attention`
    return_kept   return (y, kept): what `layer_backward` would otherwise
                  compute again, a dict of qkv (q, k and v side by side), o
                  (the merged heads, or y without wo) and lse
    threads, target
                  as in `attention`
    out           an array to write y to

    An array of the library that x came from is returned. Raises ValueError
    for shapes, parameters and options that do not fit, TypeError for what
    is no array or no number. Every projection's error is at most twice that
    of the plain computation in the same type. Source: Vaswani et al. 2017
    (arXiv:1706.03762); LayerNorm: Ba, Kiros and Hinton 2016
    (arXiv:1607.06450).
    """
    return _core.layer((x, parameters), (out, return_kept), (query_heads, kv_heads, norm, eps), (
        scale, softcap, causal, corner, offset, window, keep, bias, key_mask, key_lengths, cu_seqlens_q, cu_seqlens_k,
        slopes, sinks, None, threads, target))


def layer_backward(
    x: Any,
    parameters: dict[str, Any],
    d_y: Any,
    *,
    query_heads: int,
    kv_heads: int | None = None,
    norm: str = "layernorm",
    eps: float = 1e-5,
    gradients: Sequence[str] | None = None,
    kept: dict[str, Any] | None = None,
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
    threads: int | None = None,
    target: str | None = None,
    out: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The gradients of sum(d_y * y) for a layer: {"dx": ..., "dwq": ...}.

        y, kept = qkv.layer(x, parameters, query_heads=12, causal=True,
                            return_kept=True)
        gradients = qkv.layer_backward(x, parameters, d_y, query_heads=12,
                                       causal=True, kept=kept)

    d_y           the gradient that comes from above, of y's shape and x's
                  type
    gradients     names of those that are wanted; dx and that of every
                  parameter if not given
    kept          what `layer` returned with return_kept=True for the same
                  arguments; computed again if not given. The gradients have
                  the same bits either way
    out           a dict from some of those names to arrays to write
                  (float32 too for half types)
    parameters, query_heads, kv_heads, norm, eps
                  those of the forward call
    scale, causal, corner, offset, window, keep, bias, key_mask,
    key_lengths, cu_seqlens_q, cu_seqlens_k, slopes, sinks, softcap
                  those of the forward call
    threads, target
                  as in `attention`

    Each gradient has the shape and the type of what it is the gradient of.
    Raises as `layer` does, and ValueError for the gradient of a parameter
    that the layer has not. Error and sums as in `attention_backward`.
    """
    return _core.layer_backward((x, parameters, d_y, kept), (gradients, out), (query_heads, kv_heads, norm, eps), (
        scale, softcap, causal, corner, offset, window, keep, bias, key_mask, key_lengths, cu_seqlens_q, cu_seqlens_k,
        slopes, sinks, None, threads, target))


def layer_decode(
    x: Any,
    parameters: dict[str, Any],
    cache: KeyValueCache,
    *,
    query_heads: int,
    kv_heads: int | None = None,
    norm: str = "layernorm",
    eps: float = 1e-5,
    scale: float | None = None,
    window: tuple[int, int] | None = None,
    keep: Any = None,
    bias: Any = None,
    key_mask: Any = None,
    slopes: Sequence[float] | str | None = None,
    sinks: Sequence[float] | None = None,
    softcap: float | None = None,
    layout: str = "bhtd",
    threads: int | None = None,
    target: str | None = None,
    out: Any = None,
) -> Any:
    """The layer on the t newest tokens x [B,t,C], after those in a cache.

    The cache takes their keys and values in; y is returned. It equals the
    last t rows of `layer` with causal=True on the whole sequence, within
    the bound.

    cache         a KeyValueCache whose arrays are written; see
                  `attention_decode`
    layout        the order of the cache's axes: "bhtd", or "bthd" for heads
                  after tokens
    x, parameters, query_heads, kv_heads, norm, eps, threads, target, out
                  as in `layer`
    scale, window, keep, bias, key_mask, slopes, sinks, softcap
                  as in `attention_decode`

    Raises as `layer` and `attention_decode` do; neither cache nor out has
    changed then. If Ctrl-C stops it, cache.lengths says whether the cache
    has taken the tokens in.
    """
    return _core.layer_decode((x, parameters, fields_of(cache)), (out,), (query_heads, kv_heads, norm, eps), (
        scale, softcap, None, None, None, window, keep, bias, key_mask, None, None, None, slopes, sinks, layout,
        threads, target))
