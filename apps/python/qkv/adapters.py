"""Known implementations of attention as functions that `qkv.check` can ask: each says what it supports."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ._attention import attention, attention_backward


def qkv_attention(q: Any, k: Any, v: Any, *, d_o: Any = None, d_lse: Any = None, **options: Any) -> dict[str, Any]:
    """`qkv.attention`, and with d_o its gradients by `qkv.attention_backward`.

    Takes every option of a problem; returns o and lse, and with d_o dq, dk, dv, and dbias and dsinks where there is a
    bias and are sinks.
    """
    options["return_lse"] = True
    o, lse = attention(q, k, v, **options)
    outputs = {"o": o, "lse": lse}
    if d_o is None:
        return outputs
    del options["return_lse"]
    wanted = ["dq", "dk", "dv", *(f"d{name}" for name in ("bias", "sinks") if name in options)]
    found = attention_backward(q, k, v, o, lse, d_o, d_lse=d_lse, gradients=wanted, **options)
    return outputs | dict(zip(wanted, found, strict=True))


def _takes(library: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Marks a function with the library whose arrays it takes."""

    def mark(fn: Callable[..., Any]) -> Callable[..., Any]:
        fn.arrays = library  # type: ignore[attr-defined]
        return fn

    return mark


@_takes("torch")
def torch_sdpa(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    corner: str | None = None,
    keep: Any = None,
    key_mask: Any = None,
    bias: Any = None,
    scale: float | None = None,
) -> Any:
    """PyTorch's scaled_dot_product_attention, on its tensors.

    In a boolean mask True keeps, as here. Its causal corner is top left, and it takes one of causal, a boolean mask and
    a bias: problems with another corner or with two of them raise NotImplementedError. Grouped heads by enable_gqa.
    """
    if corner not in (None, "top_left"):
        raise NotImplementedError(f"PyTorch's causal corner is top_left, not {corner}")
    masks = [mask for mask in (keep, None if key_mask is None else key_mask[:, None, None, :]) if mask is not None]
    if causal + bool(masks) + (bias is not None) > 1:
        raise NotImplementedError("PyTorch takes one of causal, a boolean mask and a bias")
    mask = bias if not masks else masks[0] if len(masks) == 1 else masks[0] & masks[1]
    attend = importlib.import_module("torch").nn.functional.scaled_dot_product_attention
    return attend(q, k, v, attn_mask=mask, is_causal=causal, scale=scale, enable_gqa=True)


@_takes("jax")
def jax_attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    causal: bool = False,
    corner: str | None = None,
    keep: Any = None,
    bias: Any = None,
    key_lengths: Any = None,
    scale: float | None = None,
) -> Any:
    """jax.nn.dot_product_attention, on JAX's arrays.

    Its axes are [B,T,H,D], its causal corner is top left, and D and Dv are one number: other problems raise
    NotImplementedError.
    """
    if corner not in (None, "top_left"):
        raise NotImplementedError(f"JAX's causal corner is top_left, not {corner}")
    if k.shape != v.shape:
        raise NotImplementedError("JAX's widths of k and v are one number")
    jax = importlib.import_module("jax")
    attend = jax.nn.dot_product_attention
    q, k, v = (jax.numpy.swapaxes(x, 1, 2) for x in (q, k, v))
    o = attend(q, k, v, bias=bias, mask=keep, scale=scale, is_causal=causal, key_value_seq_lengths=key_lengths)
    return jax.numpy.swapaxes(o, 1, 2)
