"""qkv's kernels as the torch operators qkv::attention and qkv::attention_backward: kernel, shapes, autograd, vmap.

Both see [B,H,T,D] tensors; what users write (ranks, layouts, lists of numbers) is `_attention.py`'s to arrange.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .. import _core

# The options of both operators, in the order of their schemas. The first two have gradients.
_OPTIONS = (
    "Tensor? bias, Tensor? sinks, Tensor? keep, Tensor? key_mask, Tensor? key_lengths, Tensor? cu_seqlens_q, "
    "Tensor? cu_seqlens_k, Tensor? slopes, bool alibi, float? scale, float? softcap, bool causal, str? corner, "
    "SymInt? offset, int[]? window, int? threads, str? target"
)
_NAMES = [option.split()[-1] for option in _OPTIONS.split(",")]
_TENSORS = 8  # so many of them
GRADIENTS = ("dq", "dk", "dv", "dbias", "dsinks")

NO_SECOND_DERIVATIVE = (
    "qkv has no second derivative of attention. Where one is needed (create_graph=True, torch.autograd.gradgradcheck, "
    "torch.func.hessian), compute with torch.nn.functional.scaled_dot_product_attention under "
    "torch.nn.attention.sdpa_kernel(SDPBackend.MATH), outside qkv.torch.use()"
)


def _for_core(options: tuple[Any, ...]) -> tuple[Any, ...]:
    """The options as `_core` takes them: tensors without a history, lists of numbers, and torch's own thread count."""
    given = dict(zip(_NAMES, options))
    for name in ("bias", "keep", "key_mask"):
        given[name] = _plain(given[name])
    for name in ("sinks", "key_lengths", "cu_seqlens_q", "cu_seqlens_k", "slopes"):
        if given[name] is not None:
            given[name] = given[name].tolist()
    given["slopes"] = "alibi" if given["alibi"] else given["slopes"]
    given["threads"] = torch.get_num_threads() if given["threads"] is None else given["threads"]
    order = ("scale", "softcap", "causal", "corner", "offset", "window", "keep", "bias", "key_mask", "key_lengths",
             "cu_seqlens_q", "cu_seqlens_k", "slopes", "sinks", "layout", "threads", "target")
    return tuple(given.get(name) for name in order)


def _plain(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.detach()


def _empty(like: Tensor, heads: int, tokens: int, width: int) -> Tensor:
    """[B,heads,tokens,width] of the type of `like`, its tokens before its heads in memory where that is so in `like`.

    A model that splits heads by a view merges them again by one.
    """
    batch = like.shape[0]
    if like.stride(1) < like.stride(2):
        return like.new_empty((batch, tokens, heads, width)).transpose(1, 2)
    return like.new_empty((batch, heads, tokens, width))


def _lse_type(tensor: Tensor) -> torch.dtype:
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def _outputs(q: Tensor, k: Tensor, v: Tensor, *options: Any) -> tuple[Tensor, Tensor]:
    batch, heads, tokens, _ = q.shape
    return _empty(q, heads, tokens, v.shape[3]), q.new_empty((batch, heads, tokens), dtype=_lse_type(q))


@torch.library.custom_op(
    "qkv::attention", mutates_args=(), device_types="cpu",
    schema=f"(Tensor q, Tensor k, Tensor v, {_OPTIONS}) -> (Tensor, Tensor)")
def attention(q: Tensor, k: Tensor, v: Tensor, *options: Any) -> tuple[Tensor, Tensor]:
    """(o, lse)"""
    o, _ = _outputs(q, k, v)
    _, lse = _core.attention((q.detach(), k.detach(), v.detach()), (o, True), _for_core(options))
    return o, lse


attention.register_fake(_outputs)


def _gradient_outputs(d_o: Tensor, d_lse: Tensor | None, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor,
                      wanted: str, *options: Any) -> list[Tensor]:
    bias, sinks = options[:2]
    made = {
        "dq": lambda: _empty(q, *q.shape[1:]), "dk": lambda: _empty(k, *k.shape[1:]),
        "dv": lambda: _empty(v, *v.shape[1:]), "dbias": lambda: bias.new_empty(bias.shape),
        "dsinks": lambda: sinks.new_empty(sinks.shape, dtype=_lse_type(q))}
    return [made[name]() for name in wanted.split(",")]


@torch.library.custom_op(
    "qkv::attention_backward", mutates_args=(), device_types="cpu",
    schema="(Tensor d_o, Tensor? d_lse, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, str wanted, "
           f"{_OPTIONS}) -> Tensor[]")
def attention_backward(d_o: Tensor, d_lse: Tensor | None, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor,
                       wanted: str, *options: Any) -> list[Tensor]:
    """The gradients that `wanted` names, as "dq,dk"."""
    gradients = _gradient_outputs(d_o, d_lse, q, k, v, o, lse, wanted, *options)
    names = wanted.split(",")
    inputs = tuple(_plain(tensor) for tensor in (q, k, v, o, lse, d_o, d_lse))
    _core.attention_backward(inputs, (names, dict(zip(names, gradients))), _for_core(options))
    return gradients


attention_backward.register_fake(_gradient_outputs)


def _keep_for_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, *options = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(q, k, v, *output, *options[:_TENSORS])
    ctx.others = options[_TENSORS:]


def _backward(ctx: Any, d_o: Tensor | None, d_lse: Tensor | None) -> tuple[Tensor | None, ...]:
    q, k, v, o, lse, *tensors = ctx.saved_tensors
    needed = [need for need, _ in zip(ctx.needs_input_grad, GRADIENTS)]
    names = [name for need, name in zip(needed, GRADIENTS) if need]
    found: dict[str, Tensor] = {}
    if names and (d_o is not None or d_lse is not None):
        d_o = torch.zeros_like(o) if d_o is None else d_o
        gradients = attention_backward(d_o, d_lse, q, k, v, o, lse, ",".join(names), *tensors, *ctx.others)
        found = dict(zip(names, gradients))
    if "dsinks" in found:
        found["dsinks"] = found["dsinks"].to(tensors[1].dtype)
    of_inputs = [found.get(name) for name in GRADIENTS]
    return (*of_inputs, *(None for _ in range(len(_NAMES) - 2)))


attention.register_autograd(_backward, setup_context=_keep_for_backward)


def _refuse(ctx: Any, *gradients: Any) -> None:
    raise RuntimeError(NO_SECOND_DERIVATIVE)


attention_backward.register_autograd(_refuse)


def _batched(operator: Callable[..., Any], folding: int) -> Callable[..., Any]:
    """The rule by which vmap runs an operator whose first `folding` tensors have B as their first axis.

    Where only they have the axis of vmap, and nothing else has one for the batch, that axis joins B; otherwise there is
    a call for every entry.
    """

    def is_indifferent(name: str, value: Any) -> bool:
        if not isinstance(value, Tensor):
            return True
        if name in ("bias", "keep"):
            return value.ndim < 4 or value.shape[0] == 1
        return name in ("sinks", "slopes")

    def rule(info: Any, in_dims: tuple[Any, ...], *arguments: Any) -> tuple[Any, Any]:
        entries = info.batch_size
        options = arguments[-len(_NAMES):]
        folds = all(dim is None for dim in in_dims[folding:]) and all(map(is_indifferent, _NAMES, options))
        if folds and not (operator is attention_backward and set(arguments[7].split(",")) & {"dbias", "dsinks"}):
            folded = [_first(value, dim, entries).flatten(0, 1) if isinstance(value, Tensor) else value
                      for value, dim in zip(arguments[:folding], in_dims)]
            results = [result.unflatten(0, (entries, -1)) for result in operator(*folded, *arguments[folding:])]
        else:
            calls = [operator(*(value if dim is None else value.select(dim, entry)
                                for value, dim in zip(arguments, in_dims))) for entry in range(entries)]
            results = [torch.stack(one) for one in zip(*calls)]
        if operator is attention:
            return tuple(results), (0, 0)
        return results, [0] * len(results)

    return rule


def _first(tensor: Tensor, dim: int | None, entries: int) -> Tensor:
    """With vmap's axis first."""
    return tensor.expand(entries, *tensor.shape) if dim is None else tensor.movedim(dim, 0)


attention.register_vmap(_batched(attention, folding=3))
attention_backward.register_vmap(_batched(attention_backward, folding=7))
