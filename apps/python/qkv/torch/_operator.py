"""qkv's kernels as the torch operators qkv::attention and qkv::attention_backward: kernels, shapes, vmap.

Both see [B,H,T,D] tensors; what users write (ranks, layouts, lists of numbers) is `_attention.py`'s to arrange, and
gradients are `_autograd.py`'s.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import _core

# The options of both operators, in the order of their schemas. The first two have gradients.
_SCHEMA = (
    "Tensor? bias, Tensor? sinks, Tensor? keep, Tensor? key_mask, Tensor? key_lengths, Tensor? cu_seqlens_q, "
    "Tensor? cu_seqlens_k, Tensor? slopes, bool alibi, float? scale, float? softcap, bool causal, str? corner, "
    "SymInt? offset, int[]? window, int? threads, str? target"
)
OPTIONS = [option.split()[-1] for option in _SCHEMA.split(",")]
TENSORS = 8  # so many of them
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
GRADIENTS = ("dq", "dk", "dv", "dbias", "dsinks")


def _for_core(options: tuple[Any, ...]) -> tuple[Any, ...]:
    """The options as `_core` takes them: tensors without a history, lists of numbers, and torch's own thread count."""
    (bias, sinks, keep, key_mask, key_lengths, cu_seqlens_q, cu_seqlens_k, slopes, alibi, scale, softcap, causal,
     corner, offset, window, threads, target) = options
    return (
        scale, softcap, causal, corner, offset, window, _array(keep), _array(bias), _array(key_mask),
        _list(key_lengths), _list(cu_seqlens_q), _list(cu_seqlens_k), "alibi" if alibi else _list(slopes), _list(sinks),
        None, _threads(threads), target)


def _threads(given: int | None) -> int | None:
    """As many as PyTorch uses, where neither the call nor QKV_THREADS says how many."""
    return torch.get_num_threads() if given is None and "QKV_THREADS" not in os.environ else given


def _array(tensor: Tensor | None) -> Any:
    """The same memory as an array of NumPy, which takes a tenth of DLPack's time; bfloat16 is none of NumPy's types."""
    if tensor is None:
        return None
    tensor = tensor.detach() if tensor.requires_grad else tensor
    tensor = tensor.resolve_neg()  # torch.imag of a conjugate is negative only when it is read
    return tensor if tensor.dtype == torch.bfloat16 else tensor.numpy()


def _list(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.tolist()


def _empty(like: Tensor, heads: int, tokens: int, width: int) -> Tensor:
    """[B,heads,tokens,width] of the type of `like`, its tokens before its heads in memory where that is so in `like`.

    A model that splits heads by a view merges them again by one.
    """
    batch = like.shape[0]
    if like.stride(1) < like.stride(2):
        return like.new_empty((batch, tokens, heads, width)).transpose(1, 2)
    return like.new_empty((batch, heads, tokens, width))


def lse_type(tensor: Tensor) -> torch.dtype:
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def _outputs(q: Tensor, k: Tensor, v: Tensor, *options: Any) -> tuple[Tensor, Tensor]:
    batch, heads, tokens, _ = q.shape
    return _empty(q, heads, tokens, v.shape[3]), q.new_empty((batch, heads, tokens), dtype=lse_type(q))


def compute_o(q: Tensor, k: Tensor, v: Tensor, *options: Any) -> Tensor:
    o = _empty(q, q.shape[1], q.shape[2], v.shape[3])
    results = (_array(o), False)
    given = _for_core(options)
    if _is_step(q, k, *given):
        # Nothing is appended, so the cache is only read; its lengths, which are returned, are an array of our own.
        lengths = np.full(q.shape[0], k.shape[2]) if given[9] is None else np.array(given[9])
        try:
            _core.attention_decode((_array(q), None, None), (_array(k), _array(v), lengths, None), results,
                                   (*given[:2], None, None, None, *given[5:9], None, *given[10:]))
            return o
        except (TypeError, ValueError):
            pass  # of a cache, which the caller knows nothing of: below, in the words of attention
    _core.attention((_array(q), _array(k), _array(v)), results, given)
    return o


def _is_step(q: Tensor, k: Tensor, *given: Any) -> bool:
    """Whether the options, as `_core` takes them, are those of one new token that stands behind all keys.

    The kernel of `attention_decode` then reads K and V once for all query heads of a group; the forward pass has
    queries in its lanes, and would leave all but one of them empty.
    """
    _, _, causal, corner, offset, window, _, _, _, key_lengths, cu_seqlens_q, cu_seqlens_k, slopes, *_ = given
    if q.shape[2] != 1 or window is not None or cu_seqlens_q is not None or cu_seqlens_k is not None:
        return False
    if not causal and slopes is None:
        return corner is None and offset is None
    if offset is None:
        return corner == "bottom_right"
    return corner is None and key_lengths is None and offset == k.shape[2] - 1


@torch.library.custom_op("qkv::attention", mutates_args=(), device_types="cpu",
                         schema=f"(Tensor q, Tensor k, Tensor v, {_SCHEMA}) -> (Tensor, Tensor)")
def attention(q: Tensor, k: Tensor, v: Tensor, *options: Any) -> tuple[Tensor, Tensor]:
    """(o, lse)"""
    o = _empty(q, q.shape[1], q.shape[2], v.shape[3])
    _, lse = _core.attention((_array(q), _array(k), _array(v)), (_array(o), True), _for_core(options))
    return o, torch.as_tensor(lse)


attention.register_fake(_outputs)


def _gradient_outputs(d_o: Tensor, d_lse: Tensor | None, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor,
                      wanted: str, *options: Any) -> list[Tensor]:
    bias, sinks = options[:2]
    made = {
        "dq": lambda: _empty(q, *q.shape[1:]), "dk": lambda: _empty(k, *k.shape[1:]),
        "dv": lambda: _empty(v, *v.shape[1:]), "dbias": lambda: bias.new_empty(bias.shape),
        "dsinks": lambda: sinks.new_empty(sinks.shape, dtype=lse_type(q))}
    return [made[name]() for name in wanted.split(",")]


@torch.library.custom_op(
    "qkv::attention_backward", mutates_args=(), device_types="cpu",
    schema="(Tensor d_o, Tensor? d_lse, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, str wanted, "
           f"{_SCHEMA}) -> Tensor[]")
def attention_backward(d_o: Tensor, d_lse: Tensor | None, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor,
                       wanted: str, *options: Any) -> list[Tensor]:
    """The gradients that `wanted` names, as "dq,dk"."""
    gradients = _gradient_outputs(d_o, d_lse, q, k, v, o, lse, wanted, *options)
    names = wanted.split(",")
    inputs = tuple(map(_array, (q, k, v, o, lse, d_o, d_lse)))
    _core.attention_backward(inputs, (names, dict(zip(names, map(_array, gradients)))), _for_core(options))
    return gradients


attention_backward.register_fake(_gradient_outputs)


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
        options = arguments[-len(OPTIONS):]
        folds = all(dim is None for dim in in_dims[folding:]) and all(map(is_indifferent, OPTIONS, options))
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
