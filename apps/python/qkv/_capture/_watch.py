"""Sees every attention call of a model while it runs: Hugging Face's registry first, then PyTorch's function."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ..torch import _hugging_face
from ..torch._attention import in_autocast_type
from ..torch._sdpa import _arrange
from ._fields import CaptureError

_functional = torch.nn.functional
_pytorch = _functional.scaled_dot_product_attention


@dataclass(frozen=True)
class Seen:
    """An attention call: what it was given and gave. query, key, value, o are [B,H,T,D]; heads may be repeated."""

    module: nn.Module
    path: str
    layer: int | None
    way: str
    query: Tensor
    key: Tensor
    value: Tensor
    o: Tensor
    options: dict[str, Any]  # of qkv.torch.attention
    masks: tuple[Any, ...]  # the model's own tensors in options
    dropout: float
    sliding_window: int | None
    frame: Frame
    is_cross: bool


@dataclass(eq=False)
class Frame:
    """A module that is running, and the arguments of its forward."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    notes: dict[str, Any] = field(default_factory=dict)  # of whoever reads the calls inside

    def argument(self, *names: str) -> Any:
        """The first of these that was given and is not None."""
        try:
            given = inspect.signature(self.module.forward).bind_partial(*self.args, **self.kwargs).arguments
        except (TypeError, ValueError):
            given = self.kwargs
        return next((given[name] for name in names if given.get(name) is not None), None)

    def token_ids(self) -> Tensor | None:
        first = self.kwargs.get("input_ids", self.args[0] if self.args else None)
        is_ids = isinstance(first, Tensor) and first.ndim == 2 and first.dtype in (torch.int64, torch.int32)
        return first if is_ids else None


class Watch:
    """While entered, calls `wants(order, layer, path)` for every attention call of the model, and `take(order, seen)`
    for those that it says yes to. Everything is as before when it is left."""

    def __init__(self, model: nn.Module, wants: Callable[[int, int | None, str], bool],
                 take: Callable[[int, Seen], None]) -> None:
        self.model, self.wants, self.take = model, wants, take
        self.paths: dict[nn.Module, str] = {}
        self.missed: list[str] = []  # attention that neither way sees, in words
        self.count = 0  # of the calls so far
        self._thread = threading.local()  # .stack of Frames, .inside
        self._entered = ExitStack()

    def __enter__(self) -> Watch:
        for path, module in self.model.named_modules():
            if isinstance(module, torch.jit.ScriptModule):
                raise CaptureError(f"{path or 'the model'} is compiled by TorchScript, which nothing can look into: "
                                   "give the model from before torch.jit")
            self.paths.setdefault(module, ".".join(part for part in path.split(".") if part != "_orig_mod"))  # compiled
        with ExitStack() as entered:  # a failure below leaves nothing behind
            enter = entered.enter_context
            if "torch._dynamo" in sys.modules:  # compiled code would call neither the registry nor the function
                enter(torch.compiler.set_stance("force_eager"))
            for module in self.paths:
                hooks = (module.register_forward_pre_hook(self._begin, with_kwargs=True),
                         module.register_forward_hook(self._end, always_call=True))
                for hook in hooks:
                    entered.callback(hook.remove)
            interface = getattr(sys.modules.get("transformers.modeling_utils"), "AttentionInterface", None)
            if hasattr(interface, "get_interface"):  # transformers 5
                enter(_replaced(interface, "get_interface", self._get_interface(interface.get_interface)))
            # The mode sees the function by whatever name it was imported, but is off inside PyTorch's own functions
            # (multi_head_attention_forward), which find it in their module.
            original = _functional.scaled_dot_product_attention
            enter(_replaced(_functional, "scaled_dot_product_attention", partial(self._sdpa, original)))
            enter(_Mode(self))
            self._entered = entered.pop_all()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._entered.close()

    def _begin(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        self._thread.__dict__.setdefault("stack", []).append(Frame(module, args, kwargs))

    def _end(self, module: nn.Module, *_: Any) -> None:
        if self.stack and self.stack[-1].module is module:  # not where another's hook raised before ours
            self.stack.pop()

    @property
    def stack(self) -> list[Frame]:
        """The modules of the model that run in this thread, the innermost last."""
        frames: list[Frame] = getattr(self._thread, "stack", [])
        return frames

    @contextmanager
    def _inside(self) -> Iterator[None]:
        """A call that is being recorded may be made of others; they are the same attention."""
        self._thread.inside = True
        try:
            yield
        finally:
            self._thread.inside = False

    def _is_other(self) -> bool:
        return not self.stack or getattr(self._thread, "inside", False)

    def _get_interface(self, own: Callable[..., Any]) -> Callable[..., Any]:
        def get_interface(registry: Any, name: str, default: Any) -> Any:
            return partial(self._interface, own(registry, name, default), name)

        return get_interface

    def _interface(self, original: Callable[..., Any], name: str, module: Any, query: Any, key: Any, value: Any,
                   attention_mask: Any = None, *args: Any, **given: Any) -> Any:
        """In place of what Hugging Face's registry has under `name`."""
        def call() -> Any:
            return original(module, query, key, value, attention_mask, *args, **given)

        if self._is_other():
            return call()
        path = self.paths.get(module, self.paths[self.stack[-1].module])
        layer = getattr(module, "layer_idx", None)
        order = self._next(layer := layer if isinstance(layer, int) else _layer_of(path), path)
        with self._inside():
            result = call()
            if order is None:
                return result
            with _named(path, order):
                if args:
                    raise CaptureError("was given arguments by position that Hugging Face's models give by name")
                try:
                    read = _hugging_face.read(name or "eager", module, query, key, attention_mask, given)
                except _hugging_face.Unreadable as error:
                    raise CaptureError(f"cannot be read: {error}. Load the model with attn_implementation='sdpa' or "
                                       "'eager'") from error
                self.take(order, Seen(
                    module, path, layer, "attention_interface", query, key, value, result[0].transpose(1, 2),
                    read.options, (attention_mask, given.get("position_bias")), read.dropout, read.sliding_window,
                    *self._surroundings(query, key)))
        return result

    def _sdpa(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """In place of torch.nn.functional.scaled_dot_product_attention."""
        if self._is_other():
            return original(*args, **kwargs)
        frame = self.stack[-1]
        path = self.paths[frame.module]
        order = self._next(layer := _layer_of(path), path)
        with self._inside():
            o = original(*args, **kwargs)
            if order is not None:
                with _named(path, order):
                    self.take(order, self._read_sdpa(frame, path, layer, o, *args, **kwargs))
        return o

    def _read_sdpa(self, frame: Frame, path: str, layer: int | None, o: Tensor, query: Tensor, key: Tensor,
                   value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
                   *, scale: float | None = None, enable_gqa: bool = False) -> Seen:
        found = None
        if not any(isinstance(x, Tensor) and x.is_nested for x in (query, key, value)):
            query, key, value, mask = in_autocast_type(query, key, value, attn_mask)
            found = _arrange(query, key, value, mask, is_causal, enable_gqa)
        if found is None:
            raise CaptureError(f"has tensors that cannot be read: query {list(query.shape)} {query.dtype}, key "
                               f"{list(key.shape)}; expected [...,H,T,D] with elements, in a floating type, not nested")
        options = {"scale": scale, **found.options}
        o = o.reshape(*found.query.shape[:3], o.shape[-1])
        return Seen(frame.module, path, layer, "sdpa", found.query, found.key, found.value, o, options, (attn_mask,),
                    dropout_p, None, *self._surroundings(query, key))

    def _next(self, layer: int | None, path: str) -> int | None:
        """The order of the call that begins, or None if it is not wanted."""
        order = self.count
        self.count += 1
        return order if self.wants(order, layer, path) else None

    def _surroundings(self, query: Tensor, key: Tensor) -> tuple[Frame, bool]:
        """The innermost running module that was given token ids, else the outermost; and whether k is of other text."""
        frame = next((frame for frame in reversed(self.stack) if frame.token_ids() is not None), self.stack[0])
        inner = self.stack[-1]
        other = inner.argument("key_value_states", "encoder_hidden_states", "cross_attention_states")
        if isinstance(inner.module, nn.MultiheadAttention):
            other = None if inner.argument("query") is inner.argument("key") else inner.argument("key")
        return frame, other is not None


class _Mode(TorchFunctionMode):
    def __init__(self, watch: Watch) -> None:
        super().__init__()
        self.watch = watch

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is _pytorch:
            return self.watch._sdpa(function, *args, **kwargs)
        if function is _functional.multi_head_attention_forward and kwargs.get("need_weights", True):
            path = self.watch.paths[self.watch.stack[-1].module] if self.watch.stack else "a function"
            self.watch.missed.append(f"{path} is called with need_weights=True, which computes weights by hand: call "
                                     "it with need_weights=False")
        return function(*args, **kwargs)


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def _named(path: str, order: int) -> Iterator[None]:
    """Refusals begin with the call that they are about."""
    try:
        yield
    except CaptureError as error:
        raise CaptureError(f"attention {order} ({path or 'the model itself'}) {error}") from error.__cause__


def _layer_of(path: str) -> int | None:
    return next((int(part) for part in path.split(".") if part.isdigit()), None)
