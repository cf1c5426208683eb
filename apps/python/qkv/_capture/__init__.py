"""qkv.capture: the q, k, v of every attention call of a PyTorch model, in a file that qkv.open reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ._fields import CaptureError
from ._open import Call, Capture, open

if TYPE_CHECKING:  # needs torch
    from ._recording import Recording

__all__ = ["Call", "Capture", "CaptureError", "capture", "open"]

MASK_BYTES = 64 << 20


@overload
def capture(model: Any, path: str | os.PathLike[str] | None = None, *, text: str | Sequence[str], tokenizer: Any,
            inputs: None = None, tokens: None = None, layers: Sequence[int | str] | None = None,
            heads: Sequence[int] | None = None, values: bool = True, mask_bytes: int = MASK_BYTES,
            progress: bool | Callable[[Any], None] = False) -> Capture: ...
@overload
def capture(model: Any, path: str | os.PathLike[str] | None = None, *, inputs: Mapping[str, Any] | Any,
            text: None = None, tokenizer: Any = None, tokens: Sequence[Any] | None = None,
            layers: Sequence[int | str] | None = None, heads: Sequence[int] | None = None, values: bool = True,
            mask_bytes: int = MASK_BYTES, progress: bool | Callable[[Any], None] = False) -> Capture: ...
@overload
def capture(model: Any, path: str | os.PathLike[str] | None = None, *, text: None = None, inputs: None = None,
            tokenizer: Any = None, tokens: Sequence[Any] | None = None, layers: Sequence[int | str] | None = None,
            heads: Sequence[int] | None = None, values: bool = True, mask_bytes: int = MASK_BYTES,
            progress: bool | Callable[[Any], None] = False) -> Recording: ...


def capture(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    text: str | Sequence[str] | None = None,
    inputs: Any = None,
    tokenizer: Any = None,
    tokens: Sequence[Any] | None = None,
    layers: Sequence[int | str] | None = None,
    heads: Sequence[int] | None = None,
    values: bool = True,
    mask_bytes: int = MASK_BYTES,
    progress: bool | Callable[[Any], None] = False,
) -> Capture | Recording:
    """Records q, k, v of every attention call of a PyTorch model.

        capture = qkv.capture(model, "file.safetensors",
                              text="The cat sat", tokenizer=tokenizer)
        capture = qkv.capture(model, "file.safetensors", inputs=inputs)
        with qkv.capture(model, "file.safetensors") as recording:
            model.generate(**inputs)
        recording.capture

    From them its maps can be computed at any length. The model computes
    with what it has (its fused kernels), and nothing of size Tq·Tk is kept:
    masks are recognised as causal, window or padding.
    Of every call eight rows are recomputed at once in float64 and held to
    what the model returned: within 1e-4 of the head's largest |v| in
    float32; in half types within twice the error of the plain computation
    in that type and 4 ulp. A call with a term that qkv lacks, or that does
    not come out, is refused with the term's name, and the file is then not
    written.

    THE FILE CAN REVEAL THE PROMPT: k and v of the first layer tell which
    tokens were read. values=False leaves v out; k still tells much.

    model         a torch.nn.Module: of transformers 5, or anything that
                  calls scaled_dot_product_attention
    path          the file to write, whole at the end or not at all; None: a
                  temporary one, gone with the result
    text, tokenizer
                  a text (or several, padded), and the tokenizer that makes
                  the model's inputs of it
    inputs        a dict of the model's arguments, or its only argument,
                  instead of a text
    tokens        names of the tokens where there is no tokenizer: a list of
                  strings, or one a batch row
    layers        which layers: numbers, or patterns of module paths
                  ("*.self_attn"); None: all
    heads         which query heads, by number; None: all
    values        False: without v and o
    mask_bytes    how large a mask may be that has no compact form; larger
                  ones are refused
    progress      True: a line on the terminal; or a function that is called
                  with each call's facts

    Returns the file opened, as `qkv.open` does; without text and inputs a
    context manager, whose `.capture` that is after the block. Raises
    CaptureError (a ValueError) for what cannot be captured, also if nothing
    was: attention that is written out by hand is not seen. Compiled models
    run eagerly inside. Source: docs/capture.md.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError("qkv.capture needs PyTorch: pip install torch") from error
    from . import _run
    from ._recording import Recording

    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model is a {type(model).__name__}; expected a torch.nn.Module")
    if text is not None and (inputs is not None or tokens is not None):
        raise ValueError("text comes with a tokenizer, and not with inputs or tokens: they say the same twice")
    if text is not None and tokenizer is None:
        raise ValueError("text needs the model's tokenizer: tokenizer=AutoTokenizer.from_pretrained(...)")
    recording = Recording(model, path, tokenizer=tokenizer, tokens=tokens, layers=layers, heads=heads, values=values,
                          mask_bytes=mask_bytes, progress=progress)
    if text is None and inputs is None:
        return recording
    if text is not None:
        inputs = _run.encode(recording, tokenizer, text)
    with recording, torch.no_grad():
        _run.run(model, inputs)
    assert recording.capture is not None
    return recording.capture
