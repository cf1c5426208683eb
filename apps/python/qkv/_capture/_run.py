"""One forward pass of a model over a text or over inputs that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from . import _tokens
from ._recording import Recording


def encode(recording: Recording, tokenizer: Any, text: str | Sequence[str], **options: Any) -> dict[str, Any]:
    """The model's inputs for a text, or several, padded; the recording learns what the tokens are."""
    texts = [text] if isinstance(text, str) else list(text)
    with_offsets = bool(getattr(tokenizer, "is_fast", False))
    encoded = dict(tokenizer(texts, return_tensors="pt", padding=len(texts) > 1, return_offsets_mapping=with_offsets,
                             **options))
    offsets = encoded.pop("offset_mapping", None)
    if offsets is not None:
        rows = zip(texts, encoded["input_ids"].tolist(), offsets.tolist())
        recording.set_text([_tokens.from_offsets(tokenizer, *row) for row in rows])
    return encoded


def run(model: nn.Module, inputs: Any) -> Any:
    """model(**inputs), or model(inputs) for anything else than a mapping."""
    if not isinstance(inputs, Mapping):
        return model(inputs)
    inputs = dict(inputs)
    config = getattr(model, "config", None)
    if getattr(config, "is_encoder_decoder", False) and not any(name.startswith("decoder_input") for name in inputs):
        start = getattr(config, "decoder_start_token_id", None)
        if start is not None:  # the decoder has to begin with something
            ids = inputs["input_ids"]
            inputs["decoder_input_ids"] = ids.new_full((ids.shape[0], 1), start)
    return model(**inputs)
