"""qkv.torch.use: models on qkv inside a block, by a mode around PyTorch's function and Hugging Face's registry."""

from __future__ import annotations

import sys
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import ContextDecorator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from . import _attention, _hugging_face
from ._sdpa import DTYPES, sdpa


class FallbackWarning(UserWarning):
    """A call that qkv could not compute went to what was there; the message says why."""


@dataclass
class Usage:
    """What a `use` block has done so far in its thread: calls by qkv, and by what was there, for each reason."""

    calls: int = 0
    fallbacks: Counter[str] = field(default_factory=Counter)

    def fall_back(self, reason: str) -> None:
        if reason not in self.fallbacks:
            warnings.warn(f"qkv.torch.use: attention that qkv leaves to PyTorch: {reason}", FallbackWarning, 2)
        self.fallbacks[reason] += 1


class use(ContextDecorator):
    """Runs every model's attention on qkv inside the block; also a decorator.

        with qkv.torch.use() as usage:
            logits = model(**inputs).logits
        print(usage.calls, usage.fallbacks)

    Taken over are calls of torch.nn.functional.scaled_dot_product_attention from anywhere (nn.MultiheadAttention and
    nn.TransformerEncoderLayer too), and of transformers' AttentionInterface where a model's attn_implementation is
    "sdpa" or "eager". Softcap, sinks, grouped heads and position biases are honoured. Gradients are qkv's. The block
    acts on its own thread, may be nested and entered again, and leaves everything as it was.

    What qkv cannot compute is left to what was there, with a FallbackWarning once a reason: dropout in training, other
    devices and types, nested tensors and other subclasses, torch.compile, output_attentions, other
    attn_implementations. A second derivative raises RuntimeError, since a forward call cannot know that one will come.
    """

    def __init__(self) -> None:
        self._entered = threading.local()

    def __enter__(self) -> Usage:
        depth: list[TorchFunctionMode | None] = self._entered.__dict__.setdefault("modes", [])
        outer = getattr(_active, "usage", None)
        if outer is not None:  # the outermost block of a thread does the work
            depth.append(None)
            return outer
        mode = _Mode(Usage())
        _registry.enter()
        mode.__enter__()
        _active.usage = mode.usage
        depth.append(mode)
        return mode.usage

    def __exit__(self, *exception: Any) -> None:
        mode = self._entered.modes.pop()
        if mode is None:
            return
        _active.usage = None
        mode.__exit__(*exception)
        _registry.leave()


_active = threading.local()  # .usage, inside a block
_pytorch = torch.nn.functional.scaled_dot_product_attention


class _Mode(TorchFunctionMode):
    """Sees every call of a function of torch in this thread, whatever name it was imported by."""

    def __init__(self, usage: Usage) -> None:
        super().__init__()
        self.usage = usage

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _registry.find()
        if function is not _pytorch:
            return function(*args, **(kwargs or {}))
        reason = _why_not(*args, **(kwargs or {}))
        if reason is not None:
            self.usage.fall_back(reason)
            return function(*args, **(kwargs or {}))
        self.usage.calls += 1
        return sdpa(*args, **(kwargs or {}))


def _why_not(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, *_: Any,
             **__: Any) -> str | None:
    if dropout_p > 0:
        return f"dropout_p is {dropout_p}, and qkv has no dropout"
    for tensor in (query, key, value, attn_mask):
        if not isinstance(tensor, Tensor):
            continue
        if tensor.is_nested:
            return "a nested tensor"
        if type(tensor) not in (Tensor, torch.nn.Parameter):
            return f"a tensor of the class {type(tensor).__name__}"
        if tensor.device.type != "cpu":
            return f"the device is {tensor.device.type}, and qkv computes on the CPU"
        if tensor.dtype not in (*DTYPES, torch.bool):
            return f"the type is {tensor.dtype}"
    return None


def _of_hugging_face(original: Callable[..., Any], name: str, module: Any, query: Any, key: Any, value: Any,
                     attention_mask: Any = None, *args: Any, **given: Any) -> Any:
    """In place of `original`, what the registry has under `name`."""
    usage = _active.usage

    def fall_back(reason: str) -> Any:
        if name != "sdpa":  # which calls PyTorch's function: the mode looks at that
            usage.fall_back(reason)
        return original(module, query, key, value, attention_mask, *args, **given)

    if args:
        return fall_back("arguments of attention given by position")
    try:
        call = _hugging_face.read(name, module, query, key, attention_mask, given)
    except _hugging_face.Unreadable as error:
        return fall_back(str(error))
    reason = _why_not(query, key, value, attention_mask, call.dropout)
    if reason is None and name == "eager" and _hugging_face.wants_weights(module, given):
        reason = "output_attentions=True asks for the weights"
    if reason is not None:
        return fall_back(reason)
    usage.calls += 1
    o = _attention.attention(query, key, value, **call.options)
    return o.transpose(1, 2).contiguous(), None


class _Registry:
    """Puts `_of_hugging_face` before transformers' functions while any thread is in a block."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.blocks = 0
        self.patched: tuple[Any, Any] | None = None  # transformers' class and its own get_interface

    def enter(self) -> None:
        with self.lock:
            self.blocks += 1
        self.find()

    def leave(self) -> None:
        with self.lock:
            self.blocks -= 1
            if self.blocks == 0 and self.patched is not None:
                interface, own = self.patched
                interface.get_interface = own
                self.patched = None

    def find(self) -> None:
        """Patches transformers once it has been imported; it may be inside a block."""
        if self.patched is not None or "transformers.modeling_utils" not in sys.modules:
            return
        interface = getattr(sys.modules["transformers.modeling_utils"], "AttentionInterface", None)
        if interface is None or not hasattr(interface, "get_interface"):  # still being imported; or older than 5
            return
        with self.lock:
            if self.patched is not None or self.blocks == 0:
                return
            own = interface.get_interface

            def get_interface(registry: Any, name: str, default: Any) -> Any:
                original = own(registry, name, default)
                if getattr(_active, "usage", None) is None:
                    return original
                return partial(_of_hugging_face, original, name)

            self.patched = (interface, own)
            interface.get_interface = get_interface


_registry = _Registry()
