"""transformers' side of qkv.torch.use: what its AttentionInterface hands to a model, with qkv before it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from . import _attention, _compact, _hugging_face, _trust
from ._usage import active, why_not


def _attend(original: Callable[..., Any], name: str, module: Any, query: Any, key: Any, value: Any,
            attention_mask: Any = None, *args: Any, **given: Any) -> Any:
    """In place of `original`, what the interface has under `name`."""
    usage = active.usage
    if usage is None:  # the model has kept what it got inside a block
        return original(module, query, key, value, attention_mask, *args, **given)
    if args:
        o, reason = None, "arguments of attention given by position"
    else:
        with torch._C.DisableTorchFunction():  # our own few operations need not be looked at one by one
            o, reason = _compute(original, name, module, query, key, value, attention_mask, given)
    if reason is None:
        usage.count()
        return o, None
    if name != "sdpa":  # that one calls PyTorch's function, which is looked at too
        usage.fall_back(reason)
    return original(module, query, key, value, attention_mask, *args, **given)


def _compute(original: Callable[..., Any], name: str, module: Any, query: Any, key: Any, value: Any,
             mask: Any, given: dict[str, Any]) -> tuple[Tensor | None, str | None]:
    """o [B,T,H,D], or why not."""
    try:
        call = _hugging_face.read(name, module, query, key, mask, given)
    except _hugging_face.Unreadable as error:
        return None, str(error)
    reason = why_not(query, key, value, mask, call.dropout)
    if reason is None and name == "eager" and _hugging_face.wants_weights(module, given):
        reason = "output_attentions=True asks for the weights"
    if reason is not None:
        return None, reason
    options = call.options
    if mask is not None and mask is options.get("keep", options.get("bias")):
        compact = _compact.options_of(mask, query.shape[0], query.shape[2], key.shape[2])
        if compact is not None:
            options = {name: value for name, value in options.items() if value is not mask} | compact
    o = _attention.attention(query, key, value, **options)
    if name == "eager":
        reason = _trust.distrust(original, module, query, key, value, mask, given, o)
    return o.transpose(1, 2).contiguous(), reason


class Interface:
    """Puts `_attend` before transformers' functions while any thread is in a block; only those threads' calls go there.

    A model's config stays as it is, and so the mask is made that belongs to its attn_implementation.
    """

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
        """Patches transformers once it has been imported, which may be inside a block."""
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
                return original if active.usage is None else partial(_attend, original, name)

            self.patched = (interface, own)
            interface.get_interface = get_interface
