"""No call keeps anything: memory, references and objects are after 10,000 of them what they were before."""

import gc
import resource
import sys
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
import qkv
from conftest import DLPack, normal

CALLS = 10_000

q = normal(1, 1, 2, 5, 4)
x = normal(2, 1, 5, 8)
parameters = {name: normal(3, 8, 8) for name in ("wq", "wk", "wv", "wo")}
o, lse = qkv.attention(q, q, q, return_lse=True)
y, kept = qkv.layer(x, parameters, query_heads=2, return_kept=True)
frozen = q.copy()
frozen.flags.writeable = False
half = q.astype(ml_dtypes.bfloat16)
out = np.empty_like(o)
cache = qkv.KeyValueCache(q.copy(), q.copy(), np.full(1, 3))
token = q[:, :, :1].copy()


def decode():
    cache.lengths[0] = 3
    qkv.attention_decode(token, token, token, cache)


def decode_layer():
    cache.lengths[0] = 3
    qkv.layer_decode(x[:, :1], parameters, cache, query_heads=2)


def refused(error, call):
    def once():
        try:
            call()
        except error:
            return
        raise AssertionError("it was not refused")

    return once


class Broken(DLPack):
    def __dlpack__(self, **options):
        raise RuntimeError("no")


class OnDevice(DLPack):
    def __dlpack_device__(self):
        return 2, 0

    __dlpack__ = Broken.__dlpack__


ANSWERS = {
    "attention": lambda: qkv.attention(q, q, q, causal=True),
    "attention with every kind of option": lambda: qkv.attention(
        q, q, q, keep=np.ones((5, 5), bool), bias=np.zeros((5, 5), np.float32), key_lengths=[4], slopes=[0.5, 1],
        corner="top_left", sinks=[0.0, 1.0], softcap=3.0, return_lse=True),
    "attention into out": lambda: qkv.attention(q, q, q, out=out),
    "attention of a copy": lambda: qkv.attention(q[..., ::-1], q, q),
    "attention in bfloat16": lambda: qkv.attention(half, half, half),
    "attention by DLPack": lambda: qkv.attention(DLPack(q), DLPack(q), DLPack(q)),
    "attention of read-only arrays by DLPack": lambda: qkv.attention(DLPack(frozen), DLPack(frozen), DLPack(frozen)),
    "attention into out by DLPack": lambda: qkv.attention(q, q, q, out=DLPack(out)),
    "attention_backward": lambda: qkv.attention_backward(q, q, q, o, lse, o),
    "attention_decode": decode,
    "layer": lambda: qkv.layer(x, parameters, query_heads=2),
    "layer_backward": lambda: qkv.layer_backward(x, parameters, y, query_heads=2, kept=kept),
    "layer_decode": decode_layer,
    "trace": lambda: qkv.trace(q, q, q),
    "shapes": lambda: qkv.shapes(n=5, c=4, heads=2),
    "info": qkv.info,
    "onnx.layer_normalization": lambda: qkv.onnx.layer_normalization(x, x[0, 0]),
}
REFUSALS = {
    "a shape that does not fit": refused(ValueError, lambda: qkv.attention(q, q[..., :2], q)),
    "an option of a wrong kind": refused(TypeError, lambda: qkv.attention(q, q, q, scale="1")),
    "a list with a wrong entry": refused(TypeError, lambda: qkv.attention(q, q, q, sinks=[0.0, "1"])),
    "what is no array": refused(TypeError, lambda: qkv.attention(q, None, q)),
    "an out that is read-only": refused(TypeError, lambda: qkv.attention(q, q, q, out=frozen)),
    "an out that is read-only by DLPack": refused(TypeError, lambda: qkv.attention(q, q, q, out=DLPack(frozen))),
    "an array that does not export": refused(TypeError, lambda: qkv.attention(q, Broken(q), q)),
    "an array on a device": refused(TypeError, lambda: qkv.attention(q, OnDevice(q), q)),
    "a layer without a parameter": refused(ValueError, lambda: qkv.layer(x, {"wq": x}, query_heads=2)),
    "a cache that is full": refused(ValueError, lambda: qkv.attention_decode(q, q, q, cache)),
    "a gradient that does not exist": refused(ValueError, lambda: qkv.attention_backward(
        q, q, q, o, lse, o, gradients=["dz"])),
}


def memory():
    """KiB that the process has in use: what it can't give back is a leak even where Python's allocator keeps it."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() >> 10


@pytest.mark.parametrize("call", [pytest.param(call, id=name) for name, call in {**ANSWERS, **REFUSALS}.items()])
def test_ten_thousand_calls_keep_nothing(call):
    held = (q, x, o, lse, y, frozen, half, out, token, parameters, cache.k, cache.lengths)
    for _ in range(300):  # what is made once and kept: scratch memory, interned names
        call()
    gc.collect()
    references, before = [sys.getrefcount(array) for array in held], memory()
    for _ in range(CALLS):
        call()
    assert memory() - before < 1024  # 100 bytes a call would be as much
    assert [sys.getrefcount(array) for array in held] == references
    tracemalloc.start()
    try:
        for _ in range(10):
            call()
        gc.collect()
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(1000):
            call()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - start < 1000 * 8  # the smallest object has 16
    finally:
        tracemalloc.stop()
