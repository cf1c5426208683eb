"""What the heads of a model look like: `qkv survey` of the command line, in Python."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _core
from ._capture import Call, Capture
from ._capture import open as _open

if TYPE_CHECKING:
    import pandas

_INDEX = ("call", "layer", "batch", "head")
_SHOWN = ("relative_entropy", "first_key", "previous", "induction", "distance", "error")


class Survey(Sequence[dict[str, Any]]):
    """A dict a head, in the order of the layers.

        heads = qkv.survey("capture.safetensors")
        heads[0]["entropy"]             one number, or None
        heads.sorted("induction")[:5]   the five heads that copy most
        heads.where(lambda h: h["first_key"] < 0.3)       only some
        heads.frame()                   the same for pandas
        heads.columns()["previous"]     a list a column

    Printed it is a table with what each head looks like.
    `Survey.statistics` says what the numbers mean.
    """

    statistics: dict[str, str] = dict(_core.statistics())

    def __init__(self, heads: Iterable[dict[str, Any]]) -> None:
        self._heads = list(heads)

    def __len__(self) -> int:
        return len(self._heads)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._heads)

    @overload
    def __getitem__(self, which: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, which: slice) -> Survey: ...
    def __getitem__(self, which: int | slice) -> dict[str, Any] | Survey:
        return Survey(self._heads[which]) if isinstance(which, slice) else self._heads[which]

    def sorted(self, name: str, ascending: bool = False) -> Survey:
        """By one column, the largest first unless `ascending`.

        Heads where it is not known come last.
        """
        self._expect(name)
        known = [head for head in self._heads if head[name] is not None]
        unknown = [head for head in self._heads if head[name] is None]
        return Survey(sorted(known, key=lambda head: head[name], reverse=not ascending) + unknown)

    def where(self, condition: Callable[[dict[str, Any]], bool]) -> Survey:
        """The heads for which condition(head) is true."""
        if not callable(condition):
            raise TypeError(f"where takes a function: where(lambda head: head['previous'] > 0.5); found {condition!r}")
        return Survey(head for head in self._heads if condition(head))

    def columns(self) -> dict[str, list[Any]]:
        """A list a column, in the order of the heads."""
        return {name: [head[name] for head in self._heads] for name in (self._heads[0] if self._heads else ())}

    def frame(self) -> pandas.DataFrame:
        """A pandas data frame, a row a head. Raises ImportError without pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("Survey.frame() needs pandas (pip install pandas); Survey.columns() does not") from error
        return pandas.DataFrame(self.columns())

    def __repr__(self) -> str:
        if not self._heads:
            return "no heads"
        named = [name for name in _INDEX[1:] + _SHOWN if any(head[name] is not None for head in self._heads)]
        rows = [[name.split("_")[-1] for name in named]]
        rows += [[_shown(name, head[name]) for name in named] for head in self._heads]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        words = ["looks like", *(head["description"] for head in self._heads)]
        room = max(10, min(shutil.get_terminal_size((100, 24)).columns, 140) - sum(widths) - 2 * len(widths))
        lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) + "  " + _cut(word, room)
                 for row, word in zip(rows, words, strict=True))
        return "\n".join(lines)

    def _expect(self, name: str) -> None:
        if self._heads and name not in self._heads[0]:
            raise ValueError(f"there is no column {name!r}; expected one of {', '.join(self._heads[0])}")


def survey(
    source: str | os.PathLike[str] | Capture | Any,
    k: Any = None,
    *,
    layers: int | Sequence[int] | None = None,
    heads: int | Sequence[int] | None = None,
    tokens: Any = None,
    query_start: int | None = None,
    apart: bool = False,
    scale: float | None = None,
    causal: bool = False,
    corner: str | None = None,
    offset: int | None = None,
    window: tuple[int, int] | None = None,
    keep: Any = None,
    bias: Any = None,
    key_mask: Any = None,
    key_lengths: Sequence[int] | None = None,
    cu_seqlens_q: Sequence[int] | None = None,
    cu_seqlens_k: Sequence[int] | None = None,
    slopes: Sequence[float] | str | None = None,
    sinks: Sequence[float] | None = None,
    softcap: float | None = None,
    layout: str = "bhtd",
    threads: int | None = None,
    target: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Survey:
    """Statistics of every head, and what it looks like.

        heads = qkv.survey("capture.safetensors")
        heads = qkv.survey(capture, layers=[3])
        heads = qkv.survey(q, k, causal=True)

    It is streamed: nothing of size Tq·Tk is made, at any length. Of a
    capture, by name or opened, its masks, scales and tokens are used;
    arrays [B,Hq,Tq,D] and [B,Hkv,Tk,D] are as for `attention`.

    layers, heads
                  of a capture: these only
    tokens        of arrays: the ids [B,Tk] of the keys' tokens, for
                  duplicate and induction
    query_start   of arrays: which token query 0 is, where no corner or
                  offset says it
    apart         the batch entries each by itself instead of together
    threads, target, and the options of `attention`
                  as there; a capture has its own options
    progress      called with (calls done, calls in all) after each call of
                  a capture

    Returns a `Survey`: a dict a head with head, layer, pattern ("content",
    "previous", "next", "distance", "mix", "even", "first"), description,
    the statistics of `Survey.statistics` (None where they cannot be told),
    and error: the largest difference between the o of a capture and the
    recomputed one.
    Means are over rows that see at least two keys and are no padding.
    Raises ValueError and TypeError as `attention` does. Numerics and cost:
    docs/survey.md.
    """
    options = (scale, softcap, causal, corner, offset, window, keep, bias, key_mask, key_lengths, cu_seqlens_q,
               cu_seqlens_k, slopes, sinks, layout, threads, target)
    if k is not None:
        if layers is not None or heads is not None or progress is not None:
            raise ValueError("layers, heads and progress are for a capture; slice the arrays instead")
        found = _core.survey((source, k, None, None, None, tokens, query_start, apart, False), options)
        return Survey({"call": None, "layer": None} | head for head in found)
    if not isinstance(source, (str, os.PathLike, Capture)):
        raise TypeError(f"survey of a {type(source).__name__}: expected a capture, the path of one, or q and k")
    if causal or layout != "bhtd" or any(option is not None for option in (tokens, query_start, *options[:-3])
                                         if option is not False):
        raise ValueError("a capture says itself what was computed; options of attention are for arrays")
    capture = source if isinstance(source, Capture) else _open(source)
    layers, heads = ([picked] if isinstance(picked, int) else picked for picked in (layers, heads))
    _expect_there(capture, layers, heads)
    wanted = [call for call in capture if layers is None or call.layer in layers]
    out: list[dict[str, Any]] = []
    for done, call in enumerate(wanted):
        out += [head for head in _of_call(call, apart, threads, target) if heads is None or head["head"] in heads]
        if progress is not None:
            progress(done + 1, len(wanted))
    return Survey(out)


def _expect_there(capture: Capture, layers: Sequence[int] | None, heads: Sequence[int] | None) -> None:
    """Raises ValueError for a layer or head that no call has: what is asked for is not passed over."""
    for name, asked, there in (("layer", layers, {call.layer for call in capture} - {None}),
                               ("head", heads, {head for call in capture for head in call.heads})):
        missing = [each for each in asked or () if each not in there]
        if missing:
            raise ValueError(f"{name} {missing[0]} was not captured; there are the {name}s {sorted(there)}")


def _of_call(call: Call, apart: bool, threads: int | None, target: str | None) -> list[dict[str, Any]]:
    given = {"layout": "bhtd", "causal": False} | call.options
    names = ("scale", "softcap", "causal", "corner", "offset", "window", "keep", "bias", "key_mask", "key_lengths",
             "cu_seqlens_q", "cu_seqlens_k", "slopes", "sinks", "layout")
    options = (*(given.get(name) for name in names), threads, target)
    checked = (call.v, call.o, call.rows) if call.values and call.o is not None else (None, None, None)
    start = call.query_start if call.keys_are_tokens else None
    found = _core.survey((call.q, call.k, *checked, _ids(call), start, apart, not call.keys_are_tokens),
                         options)
    for place, head in enumerate(found):
        head["head"] = call.heads[place % len(call.heads)]
    return [{"call": call.name, "layer": call.layer} | head for head in found]


def _ids(call: Call) -> np.ndarray[Any, Any] | None:
    """The ids [B,Tk] of the keys' tokens; tokens without ids are told apart by their texts."""
    rows = []
    for tokens in call.tokens or ():
        known: dict[str, int] = {}
        ids = [known.setdefault(piece, len(known)) for piece in tokens.pieces] if tokens.ids is None else tokens.ids
        rows.append(ids[: call.Tk])  # the text may go on behind the call, in later steps
    return np.array(rows, dtype=np.int64) if len(rows) == call.B and all(len(ids) == call.Tk for ids in rows) else None


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name in _INDEX:
        return str(value)
    return f"{value:.1e}" if name == "error" else f"{value:.2f}"


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"
