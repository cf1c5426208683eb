#!/usr/bin/env python3
"""Times the smallest calls from Python: what the way into the library and back costs, on one head of 5 tokens, width 2.

Each call is timed alone; a figure is the best of 7 medians of 10,000 calls, with the clock's own time in it (the first
line says how much that is). The results are held to float64 first.

Usage: .venv/bin/python bench/python_call.py [--rounds 7] [--calls 10000]   (make python builds the module)
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable

import numpy as np
import qkv


def best_median(call: Callable[[], object], rounds: int, calls: int) -> float:
    """Seconds."""
    clock = time.perf_counter_ns
    medians = []
    for _ in range(rounds):
        spent = []
        for _ in range(calls):
            before = clock()
            call()
            spent.append(clock() - before)
        medians.append(statistics.median(spent))
    return min(medians) * 1e-9


def error(q: np.ndarray, k: np.ndarray, v: np.ndarray, o: np.ndarray) -> float:
    """The largest difference from float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    e = np.exp(q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1]))
    return float(np.abs(e @ v / e.sum(axis=-1, keepdims=True) - o).max())


def cases() -> dict[str, Callable[[], object]]:
    """What is timed, by the line that a reader would write."""
    q, k, v, d_o = np.random.default_rng(7).standard_normal((4, 1, 1, 5, 2)).astype(np.float32)
    o, lse = qkv.attention(q, k, v, return_lse=True)
    if error(q, k, v, o) > 1e-6:
        raise SystemExit("python_call: attention is wrong")
    out = np.empty_like(o)
    cache = qkv.KeyValueCache(k.copy(), v.copy(), np.array([5]))
    last = np.ascontiguousarray(q[:, :, 4:])
    x, parameters = q[0], {name: np.eye(2, dtype=np.float32) for name in ("wq", "wk", "wv", "wo")}
    return {
        "attention(q, k, v)": lambda: qkv.attention(q, k, v),
        "attention(q, k, v, out=out)": lambda: qkv.attention(q, k, v, out=out),
        "attention(q, k, v, causal=True, threads=1)": lambda: qkv.attention(q, k, v, causal=True, threads=1),
        "attention(q, k, v, return_lse=True)": lambda: qkv.attention(q, k, v, return_lse=True),
        "attention_backward(q, k, v, o, lse, d_o)": lambda: qkv.attention_backward(q, k, v, o, lse, d_o),
        "attention_decode(q, None, None, cache)": lambda: qkv.attention_decode(last, None, None, cache),
        "layer(x, parameters, query_heads=1)": lambda: qkv.layer(x, parameters, query_heads=1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=10_000)
    args = parser.parse_args()
    clock = best_median(lambda: None, args.rounds, args.calls)
    print(f"qkv {qkv.__version__}, {qkv.info()['target']}; an empty call takes {clock * 1e6:.2f} µs")
    for line, call in cases().items():
        print(f"{line:<44} {best_median(call, args.rounds, args.calls) * 1e6:6.2f} µs", flush=True)


if __name__ == "__main__":
    main()
