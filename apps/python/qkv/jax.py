"""qkv in JAX: `qkv.jax.attention` under jit, grad and vmap, computed by the library's own kernels.

    import qkv.jax
    o = qkv.jax.attention(q, k, v, causal=True)
    dq = jax.grad(lambda q: qkv.jax.attention(q, k, v, causal=True).sum())(q)

XLA calls the library through its typed FFI, on arrays in the CPU's memory, without copying. `qkv.attention` takes
arrays of JAX too, but is nothing that jit, grad or vmap could see through.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core

try:
    import jax
    import jax.numpy as jnp
    from jax.custom_derivatives import SymbolicZero
except ImportError as error:
    raise ImportError("qkv.jax needs JAX, which is not installed: pip install jax") from error

__all__ = ["attention"]

Array = jax.Array
Operands = dict[str, Any]

_handlers = _core.jax_handlers()
if not _handlers:
    raise ImportError("this qkv was built without JAX's headers. Install jax and qkv's build requirements, then build "
                      "qkv in that environment: pip install --no-build-isolation . (docs/python.md, JAX)")


@functools.cache
def _register() -> None:
    """Makes the handlers known to XLA, once JAX's CPU is up: one that it refuses would keep it from coming up."""
    jax.devices("cpu")
    for name, handler in _handlers.items():
        try:
            jax.ffi.register_ffi_target(name, handler, platform="cpu")
        except jax.errors.JaxRuntimeError as error:
            raise RuntimeError(f"this qkv was built for another jaxlib than {jax.lib.__version__}, which refuses it; "
                               "build qkv in this environment: pip install --no-build-isolation . (docs/python.md, "
                               f"JAX). XLA says: {error}") from error


@dataclass(frozen=True)
class _Options:
    """What is fixed when a function is compiled; arrays that take part are operands."""

    scale: float | None
    softcap: float | None
    causal: bool
    corner: str | None
    offset: int | None
    window: tuple[int, int] | None
    slopes: tuple[float, ...] | None
    layout: str
    threads: int | None

    def attributes(self) -> dict[str, Any]:
        """As a handler of apps/python/jax_call.cc reads them; what is None is left out."""
        typed = {"scale": np.float64, "softcap": np.float64, "causal": np.bool_, "corner": str, "offset": np.int64,
                 "window": _integers, "slopes": _numbers, "layout": str, "threads": np.int64}
        return {name: kind(getattr(self, name)) for name, kind in typed.items() if getattr(self, name) is not None}


def _integers(values: Sequence[int]) -> Any:
    return np.array(values, dtype=np.int64)


def _numbers(values: Sequence[float]) -> Any:
    return np.array(values, dtype=np.float64)


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    scale: float | None = None,
    causal: bool = False,
    corner: str | None = None,
    offset: int | None = None,
    window: tuple[int, int] | None = None,
    keep: Any = None,
    bias: Any = None,
    key_mask: Any = None,
    key_lengths: Any = None,
    slopes: Sequence[float] | str | None = None,
    sinks: Any = None,
    softcap: float | None = None,
    layout: str = "bhtd",
    return_lse: bool = False,
    threads: int | None = None,
) -> Any:
    """Exact attention as `qkv.attention`, for JAX: under jit, grad and vmap, with gradients by qkv's backward pass.

    Shapes: q [B,Hq,Tq,D], k [B,Hkv,Tk,D], v [B,Hkv,Tk,Dv], o [B,Hq,Tq,Dv]; [H,T,D] and [T,D] are accepted too. With
    layout="bthd" (as jax.nn.dot_product_attention) the axes are [B,T,H,D] or [T,H,D].
    Types: float32, bfloat16, float16, and float64 with jax_enable_x64, the same for q, k and v.

    keep, bias, key_mask, key_lengths, sinks    as in `qkv.attention`; arrays that a transformation may trace. bias and
                  sinks have gradients
    scale, softcap, causal, corner, offset, window, slopes, layout, threads    as in `qkv.attention`; numbers that are
                  known when a function is compiled
    return_lse    return (o, lse); lse has a gradient too

    Raises ValueError and TypeError as `qkv.attention` does, also while it is traced; key_lengths out of range are found
    when it runs (jax.errors.JaxRuntimeError). Gradients are of first order and reverse mode; others are refused by JAX.
    vmap over q, k and v alone is one larger batch; with other operands it is one call after the other, and what is
    not mapped is not copied. Numerics and source: as `qkv.attention` and `qkv.attention_backward`.
    """
    _register()
    given = {"q": q, "k": k, "v": v, "keep": keep, "bias": bias, "key_mask": key_mask, "key_lengths": key_lengths,
             "sinks": sinks}
    operands = {name: _on_cpu(name, value) for name, value in given.items() if value is not None}
    fixed = {"scale": scale, "softcap": softcap, "offset": offset, "window": window, "slopes": slopes,
             "threads": threads}
    for name, value in fixed.items():
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value)):
            raise TypeError(f"{name} is traced; expected numbers that are known when the function is compiled "
                            "(static_argnames, or functools.partial)")
    _check(operands, scale, softcap, causal, corner, offset, window, slopes, layout, threads)
    options = _Options(scale, softcap, bool(causal), corner, offset, None if window is None else tuple(window),
                       _slopes(slopes, operands["q"], layout), layout, threads)
    o, lse = _attention(options, operands)
    return (o, lse) if return_lse else o


def _on_cpu(name: str, value: Any) -> Array:
    array = jnp.asarray(value)
    if not isinstance(array, jax.core.Tracer):
        for device in array.devices():
            if device.platform != "cpu":
                raise ValueError(f"{name} is on {device}; expected an array on a CPU: "
                                 "jax.device_put(x, jax.devices('cpu')[0])")
    return array


def _check(operands: Operands, scale: Any, softcap: Any, causal: Any, corner: Any, offset: Any, window: Any,
           slopes: Any, layout: Any, threads: Any) -> None:
    """Raises what the library says against these shapes, types and options; there need not be any numbers yet."""
    shapes = {name: np.broadcast_to(np.zeros((), array.dtype), array.shape) for name, array in operands.items()}
    for name, letters in (("key_lengths", "B"), ("sinks", "Hq")):
        if name in operands and operands[name].ndim != 1:
            raise ValueError(f"{name} [{letters}] has {operands[name].ndim} axes; expected 1")
    if "key_lengths" in operands and not jnp.issubdtype(operands["key_lengths"].dtype, jnp.integer):
        raise TypeError(f"key_lengths is {operands['key_lengths'].dtype}; expected whole numbers")
    lengths, sinks = shapes.get("key_lengths"), shapes.get("sinks")
    _core.check_shapes((shapes["q"], shapes["k"], shapes["v"]), (
        scale, softcap, causal, corner, offset, window, shapes.get("keep"), shapes.get("bias"), shapes.get("key_mask"),
        None if lengths is None else [0] * len(lengths), None, None, slopes,
        None if sinks is None else [0.0] * len(sinks), layout, threads, None))


def _slopes(slopes: Sequence[float] | str | None, q: Array, layout: str) -> tuple[float, ...] | None:
    if isinstance(slopes, str):  # "alibi": another text has been refused
        slopes = _core.alibi_slopes(1 if q.ndim == 2 else q.shape[-2 if layout == "bthd" else -3])
    return None if slopes is None else tuple(float(slope) for slope in slopes)


def _call(handler: str, options: _Options, operands: Operands, results: Operands) -> Operands:
    call = jax.ffi.ffi_call(handler, tuple(results.values()), vmap_method="expand_dims")
    made = call(*operands.values(), operands=",".join(operands), results=",".join(results),
                rank=np.int64(operands["q"].ndim), **options.attributes())
    return dict(zip(results, made, strict=True))


def _forward(options: _Options, operands: Operands) -> tuple[Array, Array]:
    q, v = operands["q"], operands["v"]
    axes = q.shape[:-1]
    if options.layout == "bthd" and q.ndim > 2:
        axes = (*axes[:-2], axes[-1], axes[-2])
    results = {"o": jax.ShapeDtypeStruct((*q.shape[:-1], v.shape[-1]), q.dtype),
               "lse": jax.ShapeDtypeStruct(axes, _sums(q))}
    made = _call("qkv_attention_forward", options, operands, results)
    return made["o"], made["lse"]


def _sums(q: Array) -> Any:
    """The type of lse and of the gradient of the sinks."""
    return jnp.float64 if q.dtype == jnp.float64 else jnp.float32


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _differentiable(options: _Options, operands: Operands) -> tuple[Array, Array]:
    return _forward(options, operands)


def _forward_rule(options: _Options, primals: Operands) -> tuple[tuple[Array, Array], Any]:
    operands = {name: primal.value for name, primal in primals.items()}
    # None has no leaves: which gradients are wanted is part of the structure that JAX keeps, not a value.
    wanted = {name: None for name in ("q", "k", "v", "bias", "sinks") if name in primals and primals[name].perturbed}
    o, lse = _forward(options, operands)
    return (o, lse), (operands, o, lse, wanted)


def _backward_rule(options: _Options, kept: Any, upstream: tuple[Any, Any]) -> tuple[Operands]:
    operands, o, lse, wanted = kept
    d_o, d_lse = (None if isinstance(one, SymbolicZero) else one for one in upstream)
    gradients: Operands = {name: None for name in operands}  # None: zero
    if (d_o is None and d_lse is None) or not wanted:
        return (gradients,)
    inputs = operands | {"o": o, "lse": lse, "d_o": jnp.zeros_like(o) if d_o is None else d_o}
    if d_lse is not None:
        inputs["d_lse"] = d_lse
    types = {name: _sums(operands["q"]) if name == "sinks" else operands[name].dtype for name in wanted}
    results = {f"d{name}": jax.ShapeDtypeStruct(operands[name].shape, types[name]) for name in wanted}
    made = _call("qkv_attention_backward", options, inputs, results)
    return (gradients | {name: made[f"d{name}"].astype(operands[name].dtype) for name in wanted},)


_differentiable.defvjp(_forward_rule, _backward_rule, symbolic_zeros=True)
_attention = jax.jit(_differentiable, static_argnums=0)  # compiled once for options and shapes, outside of jit too
