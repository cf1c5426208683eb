"""Attention, its gradient, and attention against a cache; the work is in C++."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _core
from ._trace import Trace

# Each function passes its options to C++ as one tuple in the order of kOptionNames (apps/python/arguments.h).


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
    """Exact attention: o = softmax(scale q kᵀ + ...) v for every head.

    Shapes: q [B,Hq,Tq,D], k [B,Hkv,Tk,D], v [B,Hkv,Tk,Dv], o [B,Hq,Tq,Dv];
    [H,T,D] and [T,D] are accepted too. With layout="bthd" the axes are
    [B,T,H,D] or [T,H,D]. Query head h reads KV head h // (Hq // Hkv).
    Types: float64, float32, float16, and bfloat16 (ml_dtypes, or any
    library by DLPack), the same for q, k and v.

    scale         factor of the scores; 1/sqrt(D) if not given
    causal        see no later key; where Tq and Tk differ, `corner` or
                  `offset` must say where query 0 stands
    corner        "top_left" (PyTorch) or "bottom_right" (FlashAttention,
                  decode)
    offset        position of query 0 among the keys, instead of a corner.
                  Both need causal, window or slopes: nothing else depends
                  on positions
    window        (left, right): keys from that many before to that many
                  after; -1 leaves a side open
    keep          boolean mask, True = may be seen; broadcasts to
                  [B,Hq,Tq,Tk]
    bias          added to the scores; broadcasts to [B,Hq,Tq,Tk]; -inf
                  hides a key
    key_mask      boolean mask [B,Tk], True = may be seen
    key_lengths   how many keys of each batch entry exist
    cu_seqlens_q, cu_seqlens_k
                  packed sequences in a batch of 1: where each starts, and
                  the end
    slopes        ALiBi slopes, one a query head, or "alibi" for the paper's
    sinks         one logit a query head that joins the softmax's sum and
                  carries no value
    softcap       scores become softcap * tanh(scores / softcap)
    return_lse    return (o, lse); lse [B,Hq,Tq] is the logarithm of each
                  row's sum, float32 (float64 for float64)
    threads       None: what the environment variable QKV_THREADS says, or
                  as many as the machine gives this process; the result
                  has the same bits for any number
    target        "avx512", "avx512bf16", "avx2", "neon" or "portable";
                  None: the best that the machine has
    out           an array to write o to, of o's shape and type (float32 too
                  for half types); it is returned

    An array of the library that q came from is returned. A row whose keys
    are all hidden gives 0, and lse -inf.
    Raises ValueError for shapes and options that do not fit (the message
    names the line of the shape table that broke) and TypeError for what is
    no array or no number.
    Numerics: float32 sums and softmax for float32 and the half types; the
    error against float64 is at most twice that of the plain computation in
    the same type. Source: Vaswani et al. 2017 (arXiv:1706.03762); tiling:
    Dao et al. 2022 (arXiv:2205.14135).
    """
    return _core.attention((q, k, v), (out, return_lse), (
        scale, softcap, causal, corner, offset, window, keep, bias, key_mask, key_lengths, cu_seqlens_q, cu_seqlens_k,
        slopes, sinks, layout, threads, target))


def trace(
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
) -> Trace:
    """Every stage of `attention` in float64: a dict of NumPy's arrays.

        stages = qkv.trace(q, k, v, causal=True)
        stages["p"].sum(axis=-1)        # 1, or 0 for a row that sees no key

    Arguments as for `attention`. Stages, with the axes [B,H,T,...]: q, k,
    v, raw (q kᵀ), scaled, capped (with softcap), biased (with bias or
    slopes), masked (-inf where a key is hidden), p, lse, o. Memory: B Hq Tq
    Tk numbers a stage. It prints as a short text, and is the
    explorer's panel in a notebook (docs/python.md, Notebooks).
    """
    return Trace(_core.trace((q, k, v), (
        scale, softcap, causal, corner, offset, window, keep, bias, key_mask, key_lengths, cu_seqlens_q, cu_seqlens_k,
        slopes, sinks, layout, None, None)), {
        "scale": scale, "softcap": softcap, "causal": causal, "corner": corner, "offset": offset, "window": window,
        "keep": keep, "bias": bias, "key_mask": key_mask, "key_lengths": key_lengths, "cu_seqlens_q": cu_seqlens_q,
        "cu_seqlens_k": cu_seqlens_k, "slopes": slopes, "sinks": sinks})


def attention_backward(
    q: Any,
    k: Any,
    v: Any,
    o: Any,
    lse: Any,
    d_o: Any,
    *,
    d_lse: Any = None,
    gradients: Sequence[str] = ("dq", "dk", "dv"),
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
    out: dict[str, Any] | None = None,
) -> tuple[Any, ...]:
    """The gradients of sum(d_o * o) + sum(d_lse * lse), as a tuple.

        o, lse = qkv.attention(q, k, v, causal=True, return_lse=True)
        dq, dk, dv = qkv.attention_backward(q, k, v, o, lse, d_o,
                                            causal=True)

    o, lse        what `attention` returned for the same arguments with
                  return_lse=True
    d_o           [B,Hq,Tq,Dv], of o's type: the gradient that comes from
                  above
    d_lse         [B,Hq,Tq], of lse's type: the gradient of lse, if there is
                  one
    gradients     which ones: "dq", "dk", "dv", "dbias" (needs bias),
                  "dsinks" (needs sinks). dq, dk and dv have the shape and
                  type of q, k and v, summed over the query heads of a
                  group; dbias has bias's own (summed over what was
                  broadcast); dsinks is [Hq] in lse's type
    out           a dict from some of those names to arrays to write
                  (float32 too for half types)
    scale, causal, corner, offset, window, keep, bias, key_mask,
    key_lengths, cu_seqlens_q, cu_seqlens_k, slopes, sinks, softcap, layout
                  those of the forward call
    threads, target
                  as in `attention`

    Raises as `attention` does. A row whose keys are all hidden has the
    gradient 0. Sums are float32 (float64 for float64) whatever the type;
    the error is at most three times that of the plain computation in the
    same type.
    Source: Dao et al. 2022 (arXiv:2205.14135), algorithm 4.
    """
    return _core.attention_backward((q, k, v, o, lse, d_o, d_lse), (gradients, out), (
        scale, softcap, causal, corner, offset, window, keep, bias, key_mask, key_lengths, cu_seqlens_q, cu_seqlens_k,
        slopes, sinks, layout, threads, target))


@dataclass(frozen=True, slots=True, eq=False)
class KeyValueCache:
    """Keys and values of the tokens so far, in arrays of yours.

    A decode call writes them in place.

    Contiguous: k [B,Hkv,capacity,D], v [B,Hkv,capacity,Dv]. Paged: k
    [P,Hkv,page,D], v [P,Hkv,page,Dv] and block_table [B,max_pages] of page
    numbers: token j of sequence b lies in slot j % page of page
    block_table[b, j // page]. With layout="bthd" the heads come after the
    tokens. lengths [B], int64 or int32, says how many tokens there are;
    slots past them are never read.
    """

    k: Any
    v: Any
    lengths: Any
    block_table: Any = None


def attention_decode(
    q: Any,
    k: Any,
    v: Any,
    cache: KeyValueCache,
    *,
    scale: float | None = None,
    window: tuple[int, int] | None = None,
    keep: Any = None,
    bias: Any = None,
    key_mask: Any = None,
    slopes: Sequence[float] | str | None = None,
    sinks: Sequence[float] | None = None,
    softcap: float | None = None,
    layout: str = "bhtd",
    return_lse: bool = False,
    threads: int | None = None,
    target: str | None = None,
    out: Any = None,
) -> Any:
    """Appends new keys and values to a cache, and attends: o [B,Hq,t,Dv].

    q [B,Hq,t,D], k [B,Hkv,t,D], v [B,Hkv,t,Dv] are the t newest tokens, of
    the cache's type; query i stands at position length - t + i and sees
    what stands there and before. k=None, v=None: nothing is appended, the
    cache is attended to as it is.

        cache = qkv.KeyValueCache(np.zeros((1, 2, 512, 64), np.float32),
                                  np.zeros((1, 2, 512, 64), np.float32),
                                  lengths=np.zeros(1, np.int64))
        o = qkv.attention_decode(q, k, v, cache)
        cache.lengths      # [t]

    cache         a KeyValueCache; its arrays must be writable and share no
                  memory with q, k, v and out
    keep, bias, key_mask
                  as in `attention`; their Tk is the capacity, or
                  max_pages * page
    scale, window, slopes, sinks, softcap, layout, return_lse, threads,
    target, out   as in `attention`

    Raises as `attention` does, and ValueError for a cache without room (it
    names the sequence, its length and the capacity) and for a page number
    that does not exist; nothing has changed then. Prefill and then decode
    gives the rows of one causal `attention`, within its bound. Source:
    split keys: Dao et al. 2023 (Flash-Decoding); pages: Kwon et al. 2023
    (arXiv:2309.06180).
    """
    return _core.attention_decode((q, k, v), fields_of(cache), (out, return_lse), (
        scale, softcap, None, None, None, window, keep, bias, key_mask, None, None, None, slopes, sinks, layout,
        threads, target))


def fields_of(cache: KeyValueCache) -> tuple[Any, Any, Any, Any]:
    """What C++ takes for a cache. Raises TypeError for anything else than a cache."""
    if not isinstance(cache, KeyValueCache):
        raise TypeError(f"cache is a {type(cache).__name__}; expected a qkv.KeyValueCache")
    return cache.k, cache.v, cache.lengths, cache.block_table
