"""What the blocks of qkv.torch.use share: the count of this thread's block, and what qkv leaves to PyTorch."""

from __future__ import annotations

import sys
import threading
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from ._operator import DTYPES


class FallbackWarning(UserWarning):
    """A call that qkv cannot compute goes to what was there, and why."""


@dataclass
class Usage:
    """What a block of `use` has done so far: calls by qkv, and fallbacks.

    fallbacks counts the calls that went to what was there, by the reason.
    Calls in a graph of torch.compile are not counted.
    """

    calls: int = 0
    fallbacks: Counter[str] = field(default_factory=Counter)

    def count(self) -> None:
        """A call by qkv."""
        if not torch.compiler.is_compiling():
            self.calls += 1

    def fall_back(self, reason: str) -> None:
        """A call that goes to what was there; warns once a reason."""
        if torch.compiler.is_compiling():
            return
        if reason not in self.fallbacks:
            warnings.warn(f"qkv.torch.use: attention that qkv leaves to PyTorch: {reason}", FallbackWarning,
                          stacklevel=_level_of_the_caller())
        self.fallbacks[reason] += 1


class Active(threading.local):
    """This thread's outermost block."""

    def __init__(self) -> None:  # called in each thread
        self.usage: Usage | None = None
        self.inside = 0  # how many functions of PyTorch are running that its mode cannot look into


active = Active()


def why_not(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, *_: Any,
            **__: Any) -> str | None:
    """Why qkv leaves a call to PyTorch, or None. Arguments are those of scaled_dot_product_attention."""
    if dropout_p > 0:
        return f"dropout_p is {dropout_p}, and qkv has no dropout"
    for tensor in (query, key, value, attn_mask):
        if not isinstance(tensor, Tensor):
            continue
        if tensor.is_nested:
            return "a nested tensor"
        if type(tensor) not in (Tensor, torch.nn.Parameter) and not torch.compiler.is_compiling():
            return f"a tensor of the class {type(tensor).__name__}"
        if tensor.device.type != "cpu":
            return f"the device is {tensor.device.type}, and qkv computes on the CPU"
        if tensor.dtype not in (*DTYPES, torch.bool):
            return f"the type is {tensor.dtype}"
    return None


def _level_of_the_caller() -> int:
    """warnings' stacklevel of the first frame that is neither here nor in PyTorch."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(("qkv.torch", "torch.")):
        frame, level = frame.f_back, level + 1
    return level
