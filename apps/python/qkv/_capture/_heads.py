"""Heads: those that a framework repeated, each once; and the ones that were picked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ._fields import CaptureError


@dataclass(frozen=True)
class Heads:
    """Which heads of a call are kept. None: all. Query head h reads KV head h // (of_query // of_kv)."""

    of_query: int
    of_kv: int
    query: list[int] | None = None
    kv: list[int] | None = None

    def pick_query(self, tensor: Tensor) -> Tensor:
        return tensor if self.query is None else tensor[:, self.query]

    def pick_kv(self, tensor: Tensor) -> Tensor:
        return tensor if self.kv is None else tensor[:, self.kv]

    def groups(self) -> list[tuple[int, list[int]]]:
        """For every stored KV head the stored query heads that read it, both by their places."""
        query = list(range(self.of_query)) if self.query is None else self.query
        kv = list(range(self.of_kv)) if self.kv is None else self.kv
        group = self.of_query // self.of_kv
        return [(place, [i for i, head in enumerate(query) if head // group == kv_head])
                for place, kv_head in enumerate(kv)]


def pick(heads: Sequence[int] | None, of_query: int, of_kv: int) -> Heads:
    """Raises CaptureError for a head that there is not."""
    if heads is None:
        return Heads(of_query, of_kv)
    wrong = [head for head in heads if not 0 <= head < of_query]
    if wrong:
        raise CaptureError(f"has heads 0 to {of_query - 1}; heads={list(heads)} asks for {wrong[0]}")
    query = sorted(set(heads))
    return Heads(of_query, of_kv, query, sorted({head // (of_query // of_kv) for head in query}))


def without_repeats(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """key and value with each head once where consecutive heads are equal, as repeat_interleave makes them."""
    heads = key.shape[1]
    if heads != query.shape[1]:
        return key, value
    for group in (n for n in range(heads, 1, -1) if heads % n == 0):
        if all(_equal_in_groups(tensor, group) for tensor in (key, value)):
            return key[:, ::group], value[:, ::group]
    return key, value


def _equal_in_groups(tensor: Tensor, group: int) -> bool:
    heads = range(tensor.shape[1])
    pairs = [(head, head - head % group) for head in heads if head % group]
    # The first token tells nearly always, and costs nothing.
    return all(torch.equal(tensor[:, a, :1], tensor[:, b, :1]) for a, b in pairs) and all(
        torch.equal(tensor[:, a], tensor[:, b]) for a, b in pairs)
