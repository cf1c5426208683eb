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
    """`qkv.attention` on tensors of PyTorch, differentiable in q, k, v, bias and sinks, through lse too.

    Arguments, shapes and meaning are those of `qkv.attention`, of which there is no `out`. Tensors are read where they
    lie, with any strides; o has the memory order of q's axes. threads=None is torch.get_num_threads().

    It is the operator qkv::attention: torch.compile keeps it as one call, torch.func.vmap adds its axis to the batch.
    There is no second derivative and no forward-mode one: RuntimeError. Under torch.autocast("cpu") floating tensors
    other than float64 become autocast's type first, as for PyTorch's own attention.
    Raises ValueError for what does not fit and TypeError for what is no tensor in the CPU's memory. Numerics and
    sources: `qkv.attention` and `qkv.attention_backward`.
    """
    q, k, v, keep, bias = in_autocast_type(q, k, v, keep, bias)
    for name, tensor in (("q", q), ("k", k), ("v", v), ("keep", keep), ("bias", bias), ("key_mask", key_mask)):
        _check_tensor(name, tensor, may_be_none=name not in "qkv")
    if layout not in ("bhtd", "bthd"):
        raise ValueError(f"layout '{layout}' is unknown; expected 'bhtd' or 'bthd'")
    if isinstance(slopes, Tensor) and slopes.requires_grad:
        raise ValueError("slopes requires a gradient, which qkv does not have; give slopes.detach(), or a bias")
    if isinstance(slopes, str) and slopes != "alibi":
        raise ValueError("slopes is neither a list of numbers nor 'alibi'")
    if key_mask is not None and key_mask.ndim == 1 and q.ndim < 4:
        key_mask = key_mask[None]
    o, lse = _autograd.attention(
        *(_with_four_axes(name, x, layout) for name, x in (("q", q), ("k", k), ("v", v))), bias,
        _numbers(sinks, _operator.lse_type(q)), keep, key_mask, *(_numbers(x, torch.int64) for x in (
            key_lengths, cu_seqlens_q, cu_seqlens_k)),
        None if isinstance(slopes, str) else _numbers(slopes, torch.float64), isinstance(slopes, str), scale, softcap,
        causal, corner, offset, window, threads, target)
    o = o.transpose(1, 2) if layout == "bthd" and q.ndim > 2 else o
    for _ in range(4 - q.ndim):
        o, lse = o.squeeze(0), lse.squeeze(0)
    return (o, lse) if return_lse else o


def in_autocast_type(*tensors: Tensor | None) -> list[Tensor | None]:
    """What autocast gives PyTorch's own attention: floating tensors other than float64 in its type."""
    if not torch.is_autocast_enabled("cpu"):
        return list(tensors)
    dtype = torch.get_autocast_dtype("cpu")

    def cast(x: Tensor | None) -> Tensor | None:
        is_cast = isinstance(x, Tensor) and x.is_floating_point() and x.dtype != torch.float64
        return x.to(dtype) if is_cast else x

    return [cast(tensor) for tensor in tensors]


def _check_tensor(name: str, tensor: Any, may_be_none: bool) -> None:
    if tensor is None and may_be_none:
        return
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} is a {type(tensor).__name__}; expected a torch.Tensor (qkv.attention takes others)")
    if tensor.device.type != "cpu":
        raise TypeError(f"{name} is on the device {tensor.device}; qkv computes on the CPU: give {name}.cpu()")


def _with_four_axes(name: str, tensor: Tensor, layout: str) -> Tensor:
    """As [B,H,T,D]."""
    if not 2 <= tensor.ndim <= 4:
        raise ValueError(f"{name} has {tensor.ndim} axes; expected 2 to 4")
    if layout == "bthd" and tensor.ndim > 2:
        tensor = tensor.transpose(-3, -2)
    return tensor[(None,) * (4 - tensor.ndim)]


def _numbers(values: Any, dtype: torch.dtype) -> Tensor | None:
    return values if values is None or isinstance(values, Tensor) else torch.tensor(values, dtype=dtype)
