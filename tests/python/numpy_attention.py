"""Attention in plain NumPy, whole in its options and in its own type: what `qkv.check` is tried on.

It shares nothing with the library. `mutant()` makes one mistake in it, by replacing one line of its text.
"""

import inspect
import math

import numpy as np


def numpy_attention(q, k, v, *, scale=None, softcap=None, causal=False, corner="top_left", offset=None, window=(-1, -1),
                    keep=None, key_mask=None, bias=None, key_lengths=None, slopes=None, sinks=None, return_lse=False,
                    d_o=None, d_lse=None):
    b, hq, tq, d = q.shape
    hkv, tk = k.shape[1], k.shape[2]
    scale = q.dtype.type(1 / math.sqrt(d) if scale is None else scale)
    heads = np.arange(hq) // (hq // hkv)
    kk, vv = k[:, heads], v[:, heads]
    lengths = np.full(b, tk) if key_lengths is None else key_lengths
    first = offset if offset is not None else 0 if corner == "top_left" else lengths - tq
    i = (np.arange(tq)[:, None] + np.reshape(first, (-1, 1, 1)))[:, None]  # positions [B or 1,1,Tq,1]
    j = np.arange(tk)
    allowed = np.ones((b, hq, tq, tk), dtype=bool)
    if causal:
        allowed &= j <= i
    if window[0] >= 0:
        allowed &= j >= i - window[0]
    if window[1] >= 0:
        allowed &= j <= i + window[1]
    for mask in (keep, None if key_mask is None else key_mask[:, None, None, :]):
        if mask is not None:
            allowed &= mask
    allowed &= j < lengths[:, None, None, None]
    s = scale * (q @ kk.swapaxes(-1, -2))
    if softcap is not None:
        capped = np.tanh(s / q.dtype.type(softcap))
        s = q.dtype.type(softcap) * capped
    if bias is not None:
        s = s + bias
    if slopes is not None:
        s = (s - slopes[:, None, None] * np.abs(i - j)).astype(q.dtype)
    s = np.where(allowed, s, -np.inf)
    top = s.max(axis=-1, keepdims=True, initial=-np.inf)
    if sinks is not None:
        top = np.maximum(top, sinks.astype(q.dtype)[:, None, None])
    top = np.where(np.isfinite(top), top, 0)
    e = np.exp(s - top)
    total = e.sum(axis=-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks.astype(q.dtype)[:, None, None] - top)
    p = np.divide(e, total, out=np.zeros_like(e), where=total > 0)
    vv = np.where(allowed.any(axis=(1, 2))[:, None, :, None], vv, 0)  # 0 times what nobody may see must be 0
    o = p @ vv
    with np.errstate(divide="ignore"):
        lse = (np.log(total) + top)[..., 0]
    if d_o is None:
        return (o, lse) if return_lse else o

    def of_kv(x):
        return x.reshape(b, hkv, hq // hkv, *x.shape[2:]).sum(axis=2)

    delta = (d_o * o).sum(axis=-1) - (0 if d_lse is None else d_lse)
    ds = p * (d_o @ vv.swapaxes(-1, -2) - delta[..., None])
    through = ds if softcap is None else ds * (1 - capped**2)
    kk = np.where(allowed.any(axis=(1, 2))[:, None, :, None], kk, 0)
    found = {"o": o, "lse": lse, "dq": scale * through @ kk, "dk": of_kv(scale * through.swapaxes(-1, -2) @ q),
             "dv": of_kv(p.swapaxes(-1, -2) @ d_o)}
    if bias is not None:
        whole = ds.reshape((1,) * (4 - ds.ndim) + ds.shape)
        shape = (1,) * (4 - bias.ndim) + bias.shape
        axes = tuple(axis for axis in range(4) if shape[axis] == 1 and whole.shape[axis] > 1)
        found["dbias"] = whole.sum(axis=axes, keepdims=True).reshape(bias.shape)
    if sinks is not None:
        found["dsinks"] = -(np.exp(sinks.astype(q.dtype)[:, None] - lse) * delta).sum(axis=(0, 2))
    return found


def mutant(right, wrong):
    """numpy_attention with one piece of its text replaced."""
    text = inspect.getsource(numpy_attention)
    assert text.count(right) == 1, right
    names = {"np": np, "math": math}
    exec(compile(text.replace(right, wrong), "mutant", "exec"), names)
    return names["numpy_attention"]
