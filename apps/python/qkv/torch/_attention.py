"""qkv.torch.attention: the options of qkv.attention on tensors of PyTorch, with gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from . import _autograd, _operator


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    scale: float | None = None,
    causal: bool = False,
    corner: str | None = None,
    offset: int | None = None,
    window: tuple[int, int] | None = None,
    keep: Tensor | None = None,
    bias: Tensor | None = None,
    key_mask: Tensor | None = None,
    key_lengths: Tensor | Sequence[int] | None = None,
    cu_seqlens_q: Tensor | Sequence[int] | None = None,
    cu_seqlens_k: Tensor | Sequence[int] | None = None,
    slopes: Tensor | Sequence[float] | str | None = None,
    sinks: Tensor | Sequence[float] | None = None,
    softcap: float | None = None,
    layout: str = "bhtd",
    return_lse: bool = False,
    threads: int | None = None,
    target: str | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """`qkv.attention` on tensors of PyTorch, with gradients by our kernels.

    Arguments, shapes and meaning are those of `qkv.attention`, but for
    `out`. Differentiable in q, k, v, bias and sinks, through lse too.
    Tensors are read where they lie, with any strides; o has the memory
    order of q's axes. threads=None means QKV_THREADS of the environment,
    else torch.get_num_threads().

    It is the operator qkv::attention: torch.compile keeps it as one call,
    torch.func.vmap adds its axis to the batch. There is no forward-mode
    derivative and no second one (but see `use`): RuntimeError. Under
    torch.autocast("cpu") floating tensors other than float64 become
    autocast's type first, as for PyTorch's own attention.
    Raises ValueError for what does not fit and TypeError for what is no
    tensor in the CPU's memory. Numerics and sources: `qkv.attention` and
    `qkv.attention_backward`.
    """
    q, k, v, keep, bias = in_autocast_type(q, k, v, keep, bias)
    for name, tensor in (("q", q), ("k", k), ("v", v), ("keep", keep), ("bias", bias), ("key_mask", key_mask)):
        if tensor is not None or name in "qkv":
            _check_tensor(name, tensor)
    rank = q.ndim
    if layout != "bhtd" or not rank == k.ndim == v.ndim == 4:
        q, k, v = (_with_four_axes(name, x, layout) for name, x in (("q", q), ("k", k), ("v", v)))
    if key_mask is not None and key_mask.ndim == 1 and rank < 4:
        key_mask = key_mask[None]
    o, lse = _autograd.attention(
        q, k, v, bias, _numbers(sinks, _operator.lse_type(q)), keep, key_mask, _numbers(key_lengths, torch.int64),
        _numbers(cu_seqlens_q, torch.int64), _numbers(cu_seqlens_k, torch.int64), _slopes(slopes),
        isinstance(slopes, str), scale, softcap, causal, corner, offset, window, threads, target, needs_lse=return_lse)
    o = o.transpose(1, 2) if layout == "bthd" and rank > 2 else o
    o = o if rank == 4 else o[(0,) * (4 - rank)]
    if not return_lse:
        return o
    assert lse is not None
    return o, lse if rank == 4 else lse[(0,) * (4 - rank)]


def in_autocast_type(*tensors: Any) -> Sequence[Any]:
    """What autocast gives PyTorch's own attention: floating tensors other than float64 in its type."""
    if not torch.is_autocast_enabled("cpu"):
        return tensors
    dtype = torch.get_autocast_dtype("cpu")

    def cast(x: Tensor | None) -> Tensor | None:
        is_cast = isinstance(x, Tensor) and x.is_floating_point() and x.dtype != torch.float64
        return x.to(dtype) if is_cast else x

    return [cast(tensor) for tensor in tensors]


def _check_tensor(name: str, tensor: Any) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} is a {type(tensor).__name__}; expected a torch.Tensor (qkv.attention takes others)")
    if not tensor.is_cpu:
        raise TypeError(f"{name} is on the device {tensor.device}; qkv computes on the CPU: give {name}.cpu()")


def _with_four_axes(name: str, tensor: Tensor, layout: str) -> Tensor:
    """As [B,H,T,D]."""
    if layout not in ("bhtd", "bthd"):
        raise ValueError(f"layout '{layout}' is unknown; expected 'bhtd' or 'bthd'")
    if not 2 <= tensor.ndim <= 4:
        raise ValueError(f"{name} has {tensor.ndim} axes; expected 2 to 4")
    if layout == "bthd" and tensor.ndim > 2:
        tensor = tensor.transpose(-3, -2)
    return tensor[(None,) * (4 - tensor.ndim)]


def _numbers(values: Any, dtype: torch.dtype) -> Tensor | None:
    return values if values is None or isinstance(values, Tensor) else torch.tensor(values, dtype=dtype)


def _slopes(slopes: Any) -> Tensor | None:
    """None for "alibi", which the operator makes itself."""
    if isinstance(slopes, Tensor) and slopes.requires_grad:
        raise ValueError("slopes requires a gradient, which qkv does not have; give slopes.detach(), or a bias")
    if isinstance(slopes, str) and slopes != "alibi":
        raise ValueError("slopes is neither a list of numbers nor 'alibi'")
    return None if isinstance(slopes, str) else _numbers(slopes, torch.float64)
