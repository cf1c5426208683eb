"""qkv.open: a capture as a sequence of calls."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from ._call import Call
from ._fields import CaptureError
from ._file import read, tensors_of
from ._record import Tokens


class Capture(Sequence[Call]):
    """What `qkv.open` gives: the calls, in the order of the model.

        capture[7], capture[-1], len(capture)   by place
        capture["transformer.h.7.attn"]         the only call of a module
        capture["C0007"]                        by its name in the file
        capture.layer(7)                        all calls of a layer

    path, model (a dict: name, class, versions), tokens (a list of `text`,
    `ids`, `pieces`, `offsets`, one a batch row, or None)
    """

    def __init__(self, path: Path, model: dict[str, Any], tokens: list[Tokens] | None, calls: list[Call]) -> None:
        self.path, self.model, self.tokens, self._calls = path, model, tokens, calls

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls)

    @overload
    def __getitem__(self, which: int | str) -> Call: ...
    @overload
    def __getitem__(self, which: slice) -> list[Call]: ...
    def __getitem__(self, which: int | str | slice) -> Call | list[Call]:
        if isinstance(which, slice):
            return self._calls[which]
        if isinstance(which, str):
            found = [call for call in self._calls if which in (call.name, call.path)]
            if len(found) != 1:
                raise KeyError(f"{which!r} is {'no call' if not found else f'{len(found)} calls'} of {self.path.name}; "
                               "calls have the names and paths that print(capture) lists")
            return found[0]
        if not -len(self) <= which < len(self):
            raise IndexError(f"call {which} is not in {self.path.name}; it has {len(self)}")
        return self._calls[which]

    def layer(self, layer: int) -> list[Call]:
        """The calls of a layer.

        Raises KeyError, with the layers that there are, if it has none.
        """
        found = [call for call in self._calls if call.layer == layer]
        if not found:
            raise KeyError(f"layer {layer} is not in {self.path.name}; it has "
                           f"{sorted({call.layer for call in self._calls if call.layer is not None})}")
        return found

    def _head(self) -> str:
        name = self.model.get("name") or self.model.get("class") or "a model"
        tokens = "" if not self.tokens else f", {len(self.tokens[0].pieces)} tokens"
        errors = [call.error.max for call in self._calls if call.error is not None]
        off = f", worst |o − o′| {max(errors):.1e}" if errors else ""
        return f"{self.path.name}: {len(self)} attention calls of {name}{tokens}{off}"

    def __repr__(self) -> str:
        shown = self._calls if len(self) <= 24 else self._calls[:20]
        more = [f"  ... and {len(self) - len(shown)} more"] if len(shown) < len(self) else []
        return "\n".join([f"<qkv.Capture {self._head()}>", *(f"  {call!r}" for call in shown), *more])

    def _repr_html_(self) -> str:
        columns = ("name", "layer", "path", "Hq", "Hkv", "Tq", "Tk", "D", "dtype", "mask")
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(str(getattr(call, column)))}</td>" for column in columns)
                       + f"<td>{'' if call.error is None else f'{call.error.max:.1e}'}</td></tr>"
                       for call in self._calls[:100])
        more = f"<p>… and {len(self) - 100} more</p>" if len(self) > 100 else ""
        heads = "".join(f"<th>{column}</th>" for column in (*columns, "|o − o′|"))
        return f"<p>{html.escape(self._head())}</p><table><tr>{heads}</tr>{rows}</table>{more}"


def open(path: str | os.PathLike[str]) -> Capture:
    """Opens a file that `qkv.capture` or `qkv-capture` wrote.

    Nothing of its tensors is read until it is used.

        capture = qkv.open("gpt2.safetensors")
        call = capture[0]
        o = qkv.attention(call.q, call.k, call.v, **call.options)
        call.attention_row(head=5, row=-1)

    Raises CaptureError (a ValueError) for a file that is no capture or is
    damaged, naming the field, and OSError for one that cannot be read. The
    arrays are read-only and map the file: it may be replaced or deleted,
    but must not be shortened, while they live. Needs safetensors; PyTorch
    is not needed. bfloat16 arrays have ml_dtypes' type.
    """
    path = Path(path)
    try:
        model, tokens, records, tensors = read(path)
        calls = [Call(record, tensors_of(record, tensors), tokens) for record in records]
    except CaptureError as error:
        raise CaptureError(f"cannot open {path}: {error}") from error.__cause__
    return Capture(path, model, tokens, calls)
