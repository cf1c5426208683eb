"""What an implementation may compute: how it is called, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_PARAMETERS = ("gamma", "beta", "wq", "wk", "wv", "bq", "bk", "bv", "wqkv", "bqkv", "wo", "bo")


@dataclass(frozen=True)
class Operation:
    positional: tuple[str, ...]  # fn's first arguments
    results: tuple[str, ...]  # of the forward pass; a tuple that fn returns is some of these, from the first on
    differentiable: tuple[str, ...]  # a library's own gradients are taken of these
    also: tuple[str, ...] = ()  # what a dict may hold beside

    @property
    def result(self) -> str:
        return self.results[0]

    @property
    def upstream(self) -> str:
        """The gradient that is given: d_o, d_y."""
        return f"d_{self.result}"

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.results, *(f"d{name}" for name in self.differentiable), *self.also)

    def call(self, fn: Callable[..., Any], arguments: dict[str, Any]) -> dict[str, Any]:
        """What fn gives, by name."""
        options = dict(arguments)
        first = [options.pop(name) for name in self.positional]
        outputs = fn(*first, **options)
        if isinstance(outputs, dict):
            return outputs
        if isinstance(outputs, tuple):
            return dict(zip(self.results, outputs, strict=False))
        return {self.result: outputs}


OPERATIONS = {
    "attention": Operation(("q", "k", "v"), ("o", "lse"), ("q", "k", "v", "bias", "sinks")),
    "decode": Operation(("q", "k", "v", "k_cache", "v_cache", "cache_lengths"), ("o", "lse"), (),
                        ("k_cache", "v_cache")),
    "layer": Operation(("x",), ("y",), ("x", *_PARAMETERS)),
    "layernorm": Operation(("x",), ("y",), ("x", "gamma", "beta")),
}
