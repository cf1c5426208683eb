"""Known implementations of attention, for `qkv.check` to ask.

Each says what it supports.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ._attention import attention, attention_backward


def qkv_attention(q: Any, k: Any, v: Any, *, d_o: Any = None, d_lse: Any = None, **options: Any) -> dict[str, Any]:
    """`qkv.attention`, and with d_o its gradients by `qkv.attention_backward`.

    Takes every option of a problem; returns o and lse, and with d_o dq, dk,
    dv, and dbias and dsinks where there is a bias and are sinks.
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


def _refuse_corner(library: str, corner: str | None) -> None:
    """Of a library whose causal corner is always top left: a problem with another one counts as refused."""
    if corner not in (None, "top_left"):
        raise NotImplementedError(f"{library}'s causal corner is top_left, not {corner}")


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

    In a boolean mask True keeps, as here. Its causal corner is top left,
    and it takes one of causal, a boolean mask and a bias: problems with
    another corner or with two of them raise NotImplementedError. Grouped
    heads by enable_gqa.
    """
    _refuse_corner("PyTorch", corner)
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

    Its axes are [B,T,H,D] and its causal corner is top left: problems with
    another corner raise NotImplementedError. It has one width for k and v:
    the narrower tensors are filled up with zeros, which change no score and
    no output. A row that sees no key gives the mean of v: accept
    "empty_row_mean".
    """
    _refuse_corner("JAX", corner)
    jax = importlib.import_module("jax")
    width, value_width = q.shape[-1], v.shape[-1]

    def arranged(x: Any) -> Any:
        filled = jax.numpy.pad(x, ((0, 0), (0, 0), (0, 0), (0, max(width, value_width) - x.shape[-1])))
        return jax.numpy.swapaxes(filled, 1, 2)

    def of_four_axes(x: Any) -> Any:
        return None if x is None else x.reshape((1,) * (4 - x.ndim) + x.shape)

    o = jax.nn.dot_product_attention(
        *map(arranged, (q, k, v)), bias=of_four_axes(bias), mask=of_four_axes(keep), is_causal=causal,
        scale=width**-0.5 if scale is None else scale, key_value_seq_lengths=key_lengths)
    return jax.numpy.swapaxes(o, 1, 2)[..., :value_width]
