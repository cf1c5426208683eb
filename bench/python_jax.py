#!/usr/bin/env python3
"""What qkv.jax.attention takes beside jax.nn.dot_product_attention, both compiled, forward and with gradients.

    OMP_NUM_THREADS=2 taskset -c 0,1 .venv/bin/python bench/python_jax.py

They take turns call by call, so that both meet the same machine; the smallest of 15 times counts. Before that, the two
outputs and gradients are compared.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np
import qkv.jax

ROUNDS = 15
PROBLEMS = [(1, 1024, 12, 64, False), (1, 1024, 12, 64, True), (1, 2048, 12, 64, True)]  # B, T, H, D, causal


def functions(causal):
    """By name, a function of q, k, v [B,T,H,D]."""
    corner = {"corner": "top_left"} if causal else {}
    return {
        "qkv.jax": lambda q, k, v: qkv.jax.attention(q, k, v, causal=causal, layout="bthd", **corner),
        "jax.nn": lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=causal),
    }


def timed(call, arrays):
    start = time.perf_counter()
    jax.block_until_ready(call(*arrays))
    return time.perf_counter() - start


def measure(calls, arrays):
    """The smallest time of each in milliseconds, after their results were compared."""
    outputs = [jax.tree.leaves(call(*arrays)) for call in calls.values()]  # compiles too
    for one, other in zip(*outputs, strict=True):
        assert np.abs(np.asarray(one) - np.asarray(other)).max() < 1e-4
    times = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            times[name].append(timed(call, arrays))
    return {name: 1e3 * min(taken) for name, taken in times.items()}


def main():
    for b, t, h, d, causal in PROBLEMS:
        rng = np.random.default_rng(0)
        arrays = [jnp.asarray(rng.standard_normal((b, t, h, d), dtype=np.float32)) for _ in range(3)]
        forward = {name: jax.jit(fn) for name, fn in functions(causal).items()}
        both = {name: jax.jit(jax.grad(lambda q, k, v, fn=fn: (fn(q, k, v) ** 2).sum(), argnums=(0, 1, 2)))
                for name, fn in functions(causal).items()}
        for title, calls in (("forward", forward), ("with gradients", both)):
            taken = measure(calls, arrays)
            problem = f"H{h} T{t} D{d}{' causal' if causal else ''}"
            print(f"{problem:22} {title:15} qkv.jax {taken['qkv.jax']:7.1f} ms   jax.nn {taken['jax.nn']:7.1f} ms   "
                  f"{taken['jax.nn'] / taken['qkv.jax']:.2f}x", flush=True)


if __name__ == "__main__":
    main()
