#!/usr/bin/env python3
"""Times whole models of transformers in PyTorch, on its own attention and on qkv's: the model, and what is attention.

Two models with random weights, as large as MiniLM (6 layers, 12 heads of 32, bidirectional) and GPT-2 small (12 layers,
12 heads of 64, causal), batch 1, float32, forward. The outputs are held to each other first; then rounds take turns,
and a ratio is the median of the rounds' own. Attention is what a model spends in the function that it gets from
transformers: q, k and v in, merged heads out.

Usage: .venv/bin/python bench/torch_models.py [--tokens 512 2048] [--threads 2] [--rounds 7]
(make python installs PyTorch and transformers into .venv)
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import qkv.torch
import torch
import transformers

LARGEST_DIFFERENCE = 1e-4


@dataclass
class Spent:
    """Seconds of one forward pass."""

    model: float
    attention: float


def models(tokens: int) -> dict[str, torch.nn.Module]:
    torch.manual_seed(0)
    minilm = transformers.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                                     intermediate_size=1536, max_position_embeddings=max(tokens, 512))
    gpt2 = transformers.GPT2Config(n_positions=max(tokens, 1024))
    return {"MiniLM": transformers.BertModel._from_config(minilm, attn_implementation="sdpa").eval(),
            "GPT-2 small": transformers.GPT2Model._from_config(gpt2, attn_implementation="sdpa").eval()}


@contextlib.contextmanager
def attention_timed() -> Iterator[list[float]]:
    """A list that takes the seconds of every call of what transformers hands to a model."""
    spent: list[float] = []
    own = transformers.AttentionInterface.get_interface

    def get_interface(registry, name, default):
        attend = own(registry, name, default)

        def timed(*args, **kwargs):
            before = time.perf_counter()
            result = attend(*args, **kwargs)
            spent.append(time.perf_counter() - before)
            return result

        return timed

    transformers.AttentionInterface.get_interface = get_interface
    try:
        yield spent
    finally:
        transformers.AttentionInterface.get_interface = own


def forward(model: torch.nn.Module, ids: torch.Tensor) -> tuple[torch.Tensor, Spent]:
    with attention_timed() as of_attention:
        before = time.perf_counter()
        hidden = model(ids).last_hidden_state
        spent = time.perf_counter() - before
    return hidden, Spent(spent, sum(of_attention))


def forward_by_qkv(model: torch.nn.Module, ids: torch.Tensor) -> tuple[torch.Tensor, Spent]:
    with qkv.torch.use() as usage:
        found = forward(model, ids)
    if not usage.calls or usage.fallbacks:
        raise SystemExit(f"torch_models: not every call of attention went to qkv: {usage}")
    return found


def row(name: str, model: torch.nn.Module, tokens: int, rounds: int) -> str:
    ids = torch.arange(tokens)[None] % 1000
    difference = (forward(model, ids)[0] - forward_by_qkv(model, ids)[0]).abs().max().item()
    if not difference <= LARGEST_DIFFERENCE:
        raise SystemExit(f"torch_models: {name} differs by {difference:.1e}")
    pairs = [(forward(model, ids)[1], forward_by_qkv(model, ids)[1]) for _ in range(rounds)]
    cells = [name, str(tokens)]
    for part in ("model", "attention"):
        theirs, ours = ([getattr(spent, part) for spent in side] for side in zip(*pairs))
        ratio = statistics.median(one / other for one, other in zip(theirs, ours))
        cells += [f"{statistics.median(times) * 1e3:.1f} ms" for times in (theirs, ours)] + [f"**{ratio:.2f}×**"]
    return "| " + " | ".join([*cells, f"{difference:.0e}"]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, nargs="+", default=[512, 2048])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    print(f"qkv {qkv.__version__} ({qkv.info()['target']}), PyTorch {torch.__version__}, {args.threads} threads\n")
    print("| model | T | whole model, PyTorch | qkv | ratio | its attention, PyTorch | qkv | ratio | difference |")
    print("|---|---|---|---|---|---|---|---|---|")
    with torch.inference_mode():
        for tokens in args.tokens:
            for name, model in models(tokens).items():
                print(row(name, model, tokens, args.rounds), flush=True)


if __name__ == "__main__":
    main()
