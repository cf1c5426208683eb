"""What the Python tests share: the plain attention that qkv is held to."""

import math

import numpy as np


def plain_attention(q, k, v, *, scale=None, keep=None, bias=None, softcap=None):
    """Attention of [B,H,T,D] arrays in float64, with the scores written out; returns (o, lse)."""
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    s = q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if softcap is not None:
        s = softcap * np.tanh(s / softcap)
    if bias is not None:
        s = s + np.asarray(bias, dtype=np.float64)
    if keep is not None:
        s = np.where(keep, s, -np.inf)
    top = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(np.isfinite(top), top, 0))
    total = e.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        o = np.where(total > 0, e @ v / total, 0)
        lse = (np.log(total) + np.where(np.isfinite(top), top, 0))[..., 0]
    return o, lse


def normal(seed, *shape, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
