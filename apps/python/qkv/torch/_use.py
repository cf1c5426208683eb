"""qkv.torch.use: models on qkv inside a block."""

from __future__ import annotations

import functools
import threading
from contextlib import ContextDecorator
from types import FunctionType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ._interface import Interface
from ._sdpa import of_pytorch, sdpa
from ._usage import Usage, active, why_not


class use(ContextDecorator):
    """Runs every model's attention on qkv inside the block; also a decorator.

        with qkv.torch.use() as usage:
            logits = model(**inputs).logits
        print(usage.calls, usage.fallbacks)

    Taken over are calls of PyTorch's scaled_dot_product_attention from
    anywhere (nn.MultiheadAttention and nn.TransformerEncoderLayer too),
    and of transformers' AttentionInterface where a model's
    attn_implementation is "sdpa" or "eager". Softcap, sinks, windows,
    grouped heads and position biases are honoured. Gradients are qkv's.
    The block acts on its own thread, may be nested and entered again, and
    leaves everything as it was.

    What qkv cannot compute is left to what was there, with a
    FallbackWarning once a reason: dropout in training, other devices and
    types, nested tensors and other subclasses, second derivatives,
    output_attentions, other attn_implementations, and "eager" functions
    of models that do more than their arguments say.
    """

    def __init__(self) -> None:
        self._entered = threading.local()

    def __enter__(self) -> Usage:
        modes: list[_Mode | None] = self._entered.__dict__.setdefault("modes", [])
        if active.usage is not None:  # the outermost block of a thread does the work
            modes.append(None)
            return active.usage
        _hooks.enter()
        mode = _Mode(Usage())
        mode.__enter__()
        active.usage = mode.usage
        modes.append(mode)
        return mode.usage

    def __exit__(self, *exception: Any) -> None:
        mode = self._entered.modes.pop()
        if mode is None:
            return
        active.usage = None
        mode.__exit__(*exception)
        _hooks.leave()


class _Mode(TorchFunctionMode):
    """Sees every call of a function of torch in this thread, by whatever name it was imported.

    It is off while a function that it saw is running. multi_head_attention_forward is one, written in Python, that
    calls attention by its name in torch.nn.functional: `_in_its_place`.
    """

    def __init__(self, usage: Usage) -> None:
        super().__init__()
        self.usage = usage

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _hooks.interface.find()
        if function is of_pytorch:
            return _attend(self.usage, *args, **(kwargs or {}))
        if not isinstance(function, FunctionType):
            return function(*args, **(kwargs or {}))
        active.inside += 1
        try:
            return function(*args, **(kwargs or {}))
        finally:
            active.inside -= 1


def _attend(usage: Usage, *args: Any, **kwargs: Any) -> Any:
    reason = why_not(*args, **kwargs)
    if reason is not None:
        usage.fall_back(reason)
        return of_pytorch(*args, **kwargs)
    usage.count()
    return sdpa(*args, **kwargs)


@functools.wraps(of_pytorch)
def _in_its_place(*args: Any, **kwargs: Any) -> Any:
    if active.usage is None or not active.inside:
        return of_pytorch(*args, **kwargs)  # which the mode sees, in a thread that has one
    return _attend(active.usage, *args, **kwargs)


class _Hooks:
    """What is put into PyTorch and transformers while any thread is in a block."""

    def __init__(self) -> None:
        self.interface = Interface()
        self.lock = threading.Lock()
        self.blocks = 0

    def enter(self) -> None:
        self.interface.enter()
        with self.lock:
            self.blocks += 1
            torch.nn.functional.scaled_dot_product_attention = _in_its_place

    def leave(self) -> None:
        self.interface.leave()
        with self.lock:
            self.blocks -= 1
            if self.blocks == 0:
                torch.nn.functional.scaled_dot_product_attention = of_pytorch


_hooks = _Hooks()
