"""What the Python tests share: the plain attention that qkv is held to, and calls beside threads and signals."""

import math
import signal
import threading

import numpy as np
import pytest


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


class DLPack:
    """An array that speaks DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def plain_gradients(q, k, v, d_o, *, d_lse=None, keep=None, bias=None):
    """(dq, dk, dv, ds) of attention on [B,H,T,D] arrays in float64, with the scores written out."""
    q, k, v, d_o = (np.asarray(x, dtype=np.float64) for x in (q, k, v, d_o))
    b, hq, hkv, scale = q.shape[0], q.shape[1], k.shape[1], 1 / math.sqrt(q.shape[-1])
    o, lse = plain_attention(q, k, v, keep=keep, bias=bias)
    kk, vv = (np.repeat(x, hq // hkv, axis=1) for x in (k, v))
    s = q @ np.swapaxes(kk, -1, -2) * scale + (0 if bias is None else np.asarray(bias, dtype=np.float64))
    p = np.exp(s - np.where(np.isfinite(lse), lse, 0)[..., None])
    if keep is not None:
        p = np.where(keep, p, 0)
    delta = (d_o * o).sum(axis=-1) - (0 if d_lse is None else np.asarray(d_lse, dtype=np.float64))
    ds = p * (d_o @ np.swapaxes(vv, -1, -2) - delta[..., None])

    def of_kv(heads):
        return heads.reshape(b, hkv, hq // hkv, *heads.shape[2:]).sum(axis=2)

    return (scale * ds @ kk, of_kv(scale * np.swapaxes(ds, -1, -2) @ q), of_kv(np.swapaxes(p, -1, -2) @ d_o), ds)


def difference(loss, arrays, name, at, step=1e-5):
    """The central difference of loss(arrays) for one entry of one array."""
    values = []
    for signed in (step, -step):
        moved = arrays | {name: arrays[name].copy()}
        moved[name][at] += signed
        values.append(loss(moved))
    return (values[0] - values[1]) / (2 * step)


def counted_beside(call):
    """How far another thread counts while call() runs; the GIL lets it only where the call has released it."""
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = counted[0]
        call()
        return counted[0] - before
    finally:
        stop.set()
        thread.join()


def assert_interrupted(call, seconds=0.3):
    """That what a signal handler raises while call() runs comes out of it."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
