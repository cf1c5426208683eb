"""Tokens as text: what to write on the axis of a map, in whole letters though a tokenizer may split one into bytes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

from ._record import Tokens

_MOST_BYTES = 12  # tokens that one character may be split into; more are no unfinished character but a broken one


def from_offsets(tokenizer: Any, text: str, ids: Sequence[int], offsets: Sequence[Sequence[int]]) -> Tokens:
    """By the offsets that the tokenizer gave for `text`; a token without any ([CLS]) is named as the tokenizer does."""
    starts = _grapheme_starts(text)
    widened = [_whole(starts, begin, end) for begin, end in offsets]
    pieces = [text[begin:end] if end > begin else str(tokenizer.convert_ids_to_tokens(int(one)))
              for one, (begin, end) in zip(ids, widened)]
    return Tokens(text, [int(one) for one in ids], pieces, widened)


def from_ids(tokenizer: Any, ids: Sequence[int]) -> Tokens:
    """By decoding: a token is what the text grows by; bytes of one character wait for each other."""
    ids = [int(one) for one in ids]
    text, offsets = "", []
    context, read = 0, 0  # ids[context:read] have been decoded; they are kept in front since spaces depend on them
    for end in range(1, len(ids) + 1):
        before, after = _decoded(tokenizer, ids[context:read]), _decoded(tokenizer, ids[context:end])
        if after.endswith("\ufffd") and end < len(ids) and end - read < _MOST_BYTES:
            continue
        new = after[len(before):]
        offsets += [[len(text), len(text) + len(new)]] * (end - read)
        text += new
        context, read = read, end
    starts = _grapheme_starts(text)
    widened = [_whole(starts, begin, end) for begin, end in offsets]
    return Tokens(text, ids, [text[begin:end] for begin, end in widened], widened)


def from_pieces(pieces: Sequence[str], ids: Sequence[int] | None = None) -> Tokens:
    """As they are, one after the other. Without ids equal pieces get equal numbers."""
    ends = [0]
    for piece in pieces:
        ends.append(ends[-1] + len(piece))
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    return Tokens("".join(pieces), [numbers[piece] for piece in pieces] if ids is None else list(ids), list(pieces),
                  [[a, b] for a, b in zip(ends, ends[1:])])


def _decoded(tokenizer: Any, ids: list[int]) -> str:
    return str(tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)) if ids else ""


def _grapheme_starts(text: str) -> list[int]:
    import regex  # transformers needs it too; only it knows where letters with marks and joined emoji end

    return [*(found.start() for found in regex.finditer(r"\X", text)), len(text)]


def _whole(starts: list[int], begin: int, end: int) -> list[int]:
    """The graphemes that [begin, end) touches."""
    if end <= begin:
        return [begin, begin]
    return [starts[bisect_right(starts, begin) - 1], starts[bisect_left(starts, end)]]
