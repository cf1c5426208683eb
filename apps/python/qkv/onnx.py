"""The ONNX operators Attention and LayerNormalization, on NumPy arrays.

    Y, present_key, present_value, _ = qkv.onnx.attention(
        Q, K, V, is_causal=1)

Inputs, attributes and outputs have the standard's names, meaning and
order; Attention is that of opset 23 to 25.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._attention import attention as _attention
from ._attention import trace as _trace

Array = np.ndarray[Any, Any]

_DOUBLE = 11
_PRECISIONS = {1: "float32", 10: "float16", _DOUBLE: "float64", 16: "bfloat16"}  # TensorProto.DataType


def attention(
    Q: Array,
    K: Array,
    V: Array,
    attn_mask: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    nonpad_kv_seqlen: Array | None = None,
    *,
    is_causal: int = 0,
    q_num_heads: int | None = None,
    kv_num_heads: int | None = None,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
    qk_matmul_output_mode: int | None = None,
    left_window_size: int = -1,
    right_window_size: int = -1,
) -> tuple[Array, Array, Array, Array | None]:
    """ONNX's Attention: (Y, present_key, present_value, qk_matmul_output).

    Q, K, V       [B,H,T,D]; or [B,T,H·D], and then q_num_heads and
                  kv_num_heads say how many heads there are
    attn_mask     boolean (True = takes part) or floating (added to the
                  scores); broadcasts to [B,Hq,Tq,total]. A shorter last
                  axis is filled up with what hides
    past_key, past_value
                  [B,Hkv,past,D], put in front of K and V
    nonpad_kv_seqlen
                  [B]: how many keys of each entry are no padding. Not
                  together with a past
    is_causal     query i sees keys j <= i + offset; offset is the past's
                  length, or nonpad_kv_seqlen − Tq, or 0
    left_window_size, right_window_size
                  opset 25: keys from that many before to that many after i
                  + offset
    scale         factor of the scores; 1/sqrt(D) if not given
    softcap       scores become softcap · tanh(scores / softcap), before the
                  mask; 0 for none
    softmax_precision
                  a TensorProto type. Sums are float32 anyway (float64 for
                  float64); DOUBLE makes them float64
    qk_matmul_output_mode
                  what the fourth output is: 0 scores, 1 after softcap, 2
                  after bias and mask, 3 after the softmax. If not given, it
                  is None: scores are then never written out

    Y has the axes of Q; present_key and present_value are [B,Hkv,total,D],
    without a past K and V themselves.
    Raises ValueError for what the standard forbids, with the names of what
    contradicts.
    """
    if not Q.ndim == K.ndim == V.ndim or Q.ndim not in (3, 4):
        raise ValueError(f"Q, K and V have {Q.ndim}, {K.ndim} and {V.ndim} axes; expected 4 or 3, the same for all")
    q, k, v = (_with_heads(name, array, count, attribute) for name, array, count, attribute in (
        ("Q", Q, q_num_heads, "q_num_heads"), ("K", K, kv_num_heads, "kv_num_heads"),
        ("V", V, kv_num_heads, "kv_num_heads")))
    if K.dtype != Q.dtype:
        raise ValueError(f"K is {K.dtype} and Q {Q.dtype}; expected the same")
    if qk_matmul_output_mode not in (None, 0, 1, 2, 3):
        raise ValueError(f"qk_matmul_output_mode is {qk_matmul_output_mode}; expected 0, 1, 2 or 3")
    k, v, past = _with_past(k, v, past_key, past_value)
    options = _positions(q, past, nonpad_kv_seqlen, bool(is_causal), (left_window_size, right_window_size))
    options |= _mask(attn_mask, k.shape[2])
    if softcap < 0:
        raise ValueError(f"softcap is {softcap}; expected 0 (none) or a positive number")
    if softcap > 0:
        options["softcap"] = softcap
    inputs = _in_one_type(q, k, v, softmax_precision)
    y = _attention(*inputs, scale=scale, **options).astype(Q.dtype, copy=False)
    scores = None
    if qk_matmul_output_mode is not None:
        stages = _trace(*inputs, scale=scale, **options)
        name = ("scaled", "capped" if softcap > 0 else "scaled", "masked", "p")[qk_matmul_output_mode]
        scores = stages[name].astype(Q.dtype)
    if Q.ndim == 3:
        y = y.swapaxes(1, 2).reshape(*Q.shape[:2], -1)
    return y, k, v, scores


def layer_normalization(
    X: Array, Scale: Array, B: Array | None = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Array, Array, Array]:
    """ONNX's LayerNormalization: (Y, Mean, InvStdDev).

    It goes over the axes from `axis` on. Scale and B broadcast to those.
    Mean and InvStdDev have extent 1 there, in float32 (stash_type 1, the
    only one; float64 for float64).
    """
    if stash_type != 1:
        raise ValueError(f"stash_type is {stash_type}; expected 1 (FLOAT)")
    if not -X.ndim <= axis < X.ndim:
        raise ValueError(f"axis is {axis}; expected -{X.ndim} to {X.ndim - 1}")
    first = axis % X.ndim
    normalized = X.shape[first:]
    rows = X.reshape(-1, math.prod(normalized))
    gamma, beta = (None if weight is None else np.broadcast_to(weight, normalized).reshape(-1) for weight in (Scale, B))
    y = _core.layer_norm((rows, gamma, beta), epsilon).reshape(X.shape)
    exact = rows.astype(np.float64)
    kept = X.dtype if X.dtype == np.float64 else np.float32
    outer = (*X.shape[:first], *(1 for _ in normalized))
    return (y, exact.mean(axis=1).astype(kept).reshape(outer),
            (1 / np.sqrt(exact.var(axis=1) + epsilon)).astype(kept).reshape(outer))


def _with_heads(name: str, array: Array, heads: int | None, attribute: str) -> Array:
    """[B,H,T,D], a view of [B,T,H·D]."""
    if array.ndim == 4:
        if heads is not None and heads != array.shape[1]:
            raise ValueError(f"{attribute} is {heads}, but {name} has {array.shape[1]} heads (axis 1)")
        return array
    if heads is None:
        raise ValueError(f"{name} has 3 axes; {attribute} must say how many heads there are")
    if heads < 1 or array.shape[2] % heads != 0:
        raise ValueError(f"{attribute} is {heads}, which does not divide the width {array.shape[2]} of {name}")
    return array.reshape(*array.shape[:2], heads, -1).swapaxes(1, 2)


def _with_past(k: Array, v: Array, past_key: Array | None, past_value: Array | None) -> tuple[Array, Array, int | None]:
    if past_key is None and past_value is None:
        return k, v, None
    if past_key is None or past_value is None:
        raise ValueError("past_key and past_value belong together; one is missing")
    for name, past, new in (("past_key", past_key, k), ("past_value", past_value, v)):
        if past.ndim != 4 or past.shape[:2] != new.shape[:2] or past.shape[3] != new.shape[3]:
            b, heads, _, width = new.shape
            raise ValueError(f"{name} is {list(past.shape)}; expected [{b},{heads},past,{width}]")
    if past_key.shape[2] != past_value.shape[2]:
        raise ValueError(f"past_key has {past_key.shape[2]} tokens and past_value {past_value.shape[2]}")
    return np.concatenate((past_key, k), axis=2), np.concatenate((past_value, v), axis=2), past_key.shape[2]


def _positions(
    q: Array, past: int | None, nonpad: Array | Sequence[int] | None, causal: bool, window: tuple[int, int]
) -> dict[str, Any]:
    for name, size in zip(("left_window_size", "right_window_size"), window, strict=True):
        if size < -1:
            raise ValueError(f"{name} is {size}; expected -1 (open) or more")
    options: dict[str, Any] = {}
    if nonpad is not None:
        if past is not None:
            raise ValueError("nonpad_kv_seqlen and past_key are both given; a past holds no padding")
        options["key_lengths"] = np.asarray(nonpad).reshape(-1)
    if causal:
        options["causal"] = True
    if window != (-1, -1):
        options["window"] = window
    if causal or window != (-1, -1):  # nothing else depends on positions
        options |= {"corner": "bottom_right"} if nonpad is not None else {"offset": past or 0}
    return options


def _mask(mask: Array | None, total: int) -> dict[str, Any]:
    if mask is None:
        return {}
    is_boolean = mask.dtype == np.bool_
    if not is_boolean and mask.dtype.kind not in "fV":  # V: ml_dtypes' bfloat16
        raise ValueError(f"attn_mask is {mask.dtype}; expected a boolean or a floating type")
    missing = total - mask.shape[-1]
    if missing > 0 and mask.shape[-1] != 1:
        hidden = np.full((*mask.shape[:-1], missing), False if is_boolean else -np.inf, dtype=mask.dtype)
        mask = np.concatenate((mask, hidden), axis=-1)
    return {"keep": mask} if is_boolean else {"bias": mask}


def _in_one_type(q: Array, k: Array, v: Array, precision: int | None) -> tuple[Array, Array, Array]:
    if precision is not None and precision not in _PRECISIONS:
        known = ", ".join(f"{number} ({name})" for number, name in _PRECISIONS.items())
        raise ValueError(f"softmax_precision is {precision}; expected {known}")
    dtype = q.dtype
    if precision == _DOUBLE or np.float64 in (q.dtype, v.dtype):
        dtype = np.dtype(np.float64)
    elif v.dtype != q.dtype:
        dtype = np.dtype(np.float32)
    return tuple(array.astype(dtype, copy=False) for array in (q, k, v))  # type: ignore[return-value]
