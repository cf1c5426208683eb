#!/usr/bin/env python3
"""Times one new token against many keys on one thread: PyTorch, qkv's forward pass and qkv.torch.sdpa.

float32, no gradients. Rounds take turns; medians of the thread's own CPU time, which programs beside stretch least.

Usage: .venv/bin/python bench/torch_step.py [--rounds 60]      (make python installs PyTorch into .venv)
"""

import argparse
import statistics
import time

import qkv.torch
import torch

SHAPES = ((32, 8, 2048, 128), (12, 12, 1024, 64))  # query heads, KV heads, keys, width


def seconds(call) -> float:
    call()  # brings the inputs back into the caches
    before = time.thread_time()
    call()
    return time.thread_time() - before


def row(heads: int, kv_heads: int, keys: int, width: int, rounds: int) -> str:
    q = torch.randn(1, heads, 1, width)
    k, v = (torch.randn(1, kv_heads, keys, width) for _ in range(2))
    arrays = [x.numpy() for x in (q, k, v)]
    calls = (
        lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        lambda: qkv.attention(*arrays, threads=1),
        lambda: qkv.torch.sdpa(q, k, v, enable_gqa=True))
    times = zip(*([seconds(call) for call in calls] for _ in range(rounds)))
    cells = [f"{statistics.median(of_one) * 1e3:.2f} ms" for of_one in times]
    return "| " + " | ".join([f"H{heads}/{kv_heads} T1×{keys} D{width}", *cells]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    print("| shape | PyTorch | forward pass | qkv.torch.sdpa |\n|---|---|---|---|")
    with torch.inference_mode():
        for shape in SHAPES:
            print(row(*shape, rounds), flush=True)


if __name__ == "__main__":
    main()
