"""The gradient of qkv::attention for every way that PyTorch asks for it, and the refusal of what has none."""

from __future__ import annotations

from functools import partial
from typing import Any, NoReturn

import torch
from torch import Tensor

from . import _operator, _plain
from ._usage import Usage, active

_ELSEWHERE = (
    "compute with torch.nn.functional.scaled_dot_product_attention under "
    "torch.nn.attention.sdpa_kernel(SDPBackend.MATH), outside qkv.torch.use()"
)


def attention(*arguments: Any, needs_lse: bool) -> tuple[Tensor, Tensor | None]:
    """qkv::attention, (o, lse), with its gradient."""
    if torch.compiler.is_compiling():
        return _operator.attention(*arguments)  # the operator's own registration, below
    if not needs_lse and not torch.is_grad_enabled() and _is_unobserved(arguments):
        return _operator.compute_o(*arguments), None
    return _Attention.apply(*arguments)


def _is_unobserved(arguments: tuple[Any, ...]) -> bool:
    """Whether nothing but o is asked for: no transform of torch.func, no mode, no forward-mode derivative, no subclass.

    The way through PyTorch's dispatcher costs 80 µs, as much as attention over a short sequence.
    """
    return (_KINDS.issuperset(map(type, arguments))
            and not torch._C._are_functorch_transforms_active()
            and torch._C._len_torch_dispatch_stack() == 0
            and torch.autograd.forward_ad._current_level < 0)


_KINDS = {Tensor, torch.nn.Parameter, type(None), bool, int, float, str, tuple, list}


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, *options = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(q, k, v, *output, *options[:_operator.TENSORS])
    ctx.others = options[_operator.TENSORS:]
    ctx.in_a_block = active.usage is not None


def _gradients(ctx: Any, d_o: Tensor | None, d_lse: Tensor | None, compute: Any) -> tuple[Tensor | None, ...]:
    """Those that the inputs of qkv::attention need: q, k, v, bias and sinks are its first."""
    q, k, v, o, lse, *tensors = ctx.saved_tensors
    names = [name for needed, name in zip(ctx.needs_input_grad, _operator.GRADIENTS) if needed]
    found: dict[str, Tensor] = {}
    if names and (d_o is not None or d_lse is not None):
        d_o = torch.zeros_like(o) if d_o is None else d_o
        gradients = compute(d_o, d_lse, q, k, v, o, lse, ",".join(names), *tensors, *ctx.others)
        found = dict(zip(names, gradients))
    if "dsinks" in found:
        found["dsinks"] = found["dsinks"].to(tensors[1].dtype)
    of_inputs = [found.get(name) for name in _operator.GRADIENTS]
    return (*of_inputs, *(None for _ in _operator.OPTIONS[2:]))


def _backward(ctx: Any, d_o: Tensor | None, d_lse: Tensor | None) -> tuple[Tensor | None, ...]:
    return _gradients(ctx, d_o, d_lse, _operator.attention_backward)


def _refuse_second(ctx: Any = None, *gradients: Any) -> NoReturn:
    raise RuntimeError("qkv has no second derivative of attention (create_graph=True, torch.autograd.gradgradcheck, "
                       f"torch.func.hessian); where one is needed, {_ELSEWHERE}")


def _refuse_forward(ctx: Any, *tangents: Any) -> NoReturn:
    raise RuntimeError("qkv has no forward-mode derivative of attention (torch.func.jvp, torch.func.jacfwd, "
                       f"torch.func.hessian); take torch.func.vjp or jacrev, or {_ELSEWHERE}")


class _Backward(torch.autograd.Function):
    """qkv::attention_backward. What was computed in a block of qkv.torch.use() has a second derivative, by PyTorch."""

    generate_vmap_rule = True

    @staticmethod
    def forward(in_a_block: bool, *arguments: Any) -> tuple[Tensor, ...]:
        return tuple(_operator.attention_backward(*arguments))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.in_a_block, d_o, d_lse, q, k, v, _, _, ctx.wanted, *options = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(d_o, q, k, v, *options[:_operator.TENSORS])
        ctx.others = options[_operator.TENSORS:]
        ctx.has_d_lse = d_lse is not None

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        if not ctx.in_a_block or ctx.has_d_lse:
            _refuse_second()
        (active.usage or Usage()).fall_back("a second derivative, which has its scores written out")
        d_o, *tensors = ctx.saved_tensors
        of_d_o, of_q, of_k, of_v, of_bias, of_sinks = _plain.second_derivative(
            d_o, tuple(tensors), ctx.others, ctx.wanted, gradients)
        rest = (None for _ in _operator.OPTIONS[2:])
        return None, of_d_o, None, of_q, of_k, of_v, None, None, None, of_bias, of_sinks, *rest

    jvp = staticmethod(_refuse_forward)


class _Attention(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(*arguments: Any) -> tuple[Tensor, Tensor]:
        return _operator.attention(*arguments)

    setup_context = staticmethod(_setup_context)
    jvp = staticmethod(_refuse_forward)

    @staticmethod
    def backward(ctx: Any, d_o: Tensor | None, d_lse: Tensor | None) -> tuple[Tensor | None, ...]:
        return _gradients(ctx, d_o, d_lse, partial(_Backward.apply, ctx.in_a_block))


# For torch.compile, and for who calls torch.ops.qkv.attention; torch.func cannot go through these.
_operator.attention.register_autograd(_backward, setup_context=_setup_context)
_operator.attention_backward.register_autograd(_refuse_second)
