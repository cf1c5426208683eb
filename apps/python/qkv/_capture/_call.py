"""An attention call of a capture: its arrays, its options, and its weights when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._attention import trace
from ._fields import CaptureError
from ._file import Array
from ._record import Error, Record, Tokens

_BLOCK = 1 << 22  # weights that are computed together


class Call:
    """An attention call: q, k, v of the mapped file, and its options.

        o = qkv.attention(call.q, call.k, call.v, **call.options)
        call.weights(head=3, rows=[0, 7])   [2,Tk] of the map, in float64

    q [B,Hq,Tq,D], k [B,Hkv,Tk,D], v [B,Hkv,Tk,Dv] of the heads that were
    picked; o [B,Hq,R,Dv] is what the model returned for the query rows
    `rows`. Fields as in docs/capture.md: name, order, layer, path, way, B,
    Hq, Hkv, Tq, Tk, D, Dv, heads, scale, causal, offset, window, mask, ...
    """

    def __init__(self, record: Record, tensors: dict[str, Array], tokens: list[Tokens] | None) -> None:
        self._record, self._tensors, self._tokens = record, tensors, tokens

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._record, name)

    @property
    def heads(self) -> list[int]:
        """The query heads that are there, by the model's numbers."""
        return self._record.stored_heads

    @property
    def q(self) -> Array:
        return self._tensors["q"]

    @property
    def k(self) -> Array:
        return self._of_heads(self._tensors["k"])

    @property
    def v(self) -> Array:
        if not self._record.values:
            raise CaptureError(f"call {self._record.name} was captured with values=False: it has no v and no o")
        return self._of_heads(self._tensors["v"])

    @property
    def o(self) -> Array | None:
        """What the model returned, of the query rows `rows`: [B,Hq,R,Dv]."""
        return self._tensors.get("o")

    @property
    def error(self) -> Error | None:
        """The largest |o − o′| of the self-check, and the most that was allowed."""
        return self._record.error

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of `qkv.attention`."""
        record = self._record
        options: dict[str, Any] = {"scale": record.scale}
        if record.softcap is not None:
            options["softcap"] = record.softcap
        if record.causal:
            options["causal"] = True
        if record.offset is not None:
            options["offset"] = record.offset
        if record.window is not None:
            options["window"] = tuple(record.window)
        return options | {name: self._tensors[name] for name in ("keep", "bias", "key_mask", "slopes", "sinks")
                          if name in self._tensors}

    @property
    def tokens(self) -> list[Tokens] | None:
        """The tokens that the keys are, a batch row each.

        None where they are not known or keys are no tokens.
        """
        return self._tokens if self._record.tokens else None

    @property
    def keys_are_tokens(self) -> bool:
        """Whether key j is token j and query i token query_start + i.

        It is known also where the tokens are not.
        """
        return self._record.tokens

    def weights(self, head: int, rows: int | slice | Sequence[int] | None = None, batch: int = 0) -> Array:
        """Rows of the attention map of a head, [rows,Tk] in float64.

        All of them if `rows` is not given.

        head is the model's number of a query head. Computed anew by the float64
        reference from q and k, a few rows at a time; the result is all the
        memory that it takes. Raises IndexError for a head, row or batch entry
        that is not there.
        """
        record = self._record
        if head not in self.heads:
            raise IndexError(f"head {head} is not in call {record.name}; it has {self.heads}")
        if not -record.B <= batch < record.B:
            raise IndexError(f"batch entry {batch} is not in call {record.name}; it has {record.B}")
        wanted = [rows] if isinstance(rows, int) else range(record.Tq)[rows] if isinstance(rows, slice) else (
            range(record.Tq) if rows is None else [int(row) for row in rows])
        wrong = [row for row in wanted if not -record.Tq <= row < record.Tq]
        if wrong:
            raise IndexError(f"row {wrong[0]} is not in call {record.name}; it has {record.Tq}")
        wanted = [row % record.Tq for row in wanted]
        p = np.empty((len(wanted), record.Tk))
        for begin, end in _runs(wanted, max(1, _BLOCK // max(1, record.Tk))):
            p[begin:end] = self._weights(self.heads.index(head), wanted[begin], end - begin, batch % record.B)
        return p

    def attention_row(self, head: int, row: int, batch: int = 0) -> Array:
        """One row of the map, [Tk]: how much query `row` takes from every key."""
        found: Array = self.weights(head, row, batch)[0]
        return found

    def _weights(self, place: int, row: int, count: int, batch: int) -> Array:
        record = self._record
        kv = record.stored_kv_heads.index(self.heads[place] // (record.Hq // record.Hkv))
        options = self.options
        if record.offset is not None:
            options["offset"] = record.offset + row
        for name in ("keep", "bias"):
            if name in options:
                options[name] = _part(options[name], (batch, place, row), (1, 1, count))
        if "key_mask" in options:
            options["key_mask"] = options["key_mask"][batch:batch + 1]
        for name in ("slopes", "sinks"):
            if name in options:
                options[name] = options[name][place:place + 1]
        q = self._tensors["q"][batch:batch + 1, place:place + 1, row:row + count]
        k = self._tensors["k"][batch:batch + 1, kv:kv + 1]
        found: Array = trace(q, k, k, **options)["p"][0, 0]
        return found

    def _of_heads(self, tensor: Array) -> Array:
        """A KV head for every query head, copied, where the picked heads are no whole groups."""
        record = self._record
        if record.heads is None:
            return tensor
        read = [record.stored_kv_heads.index(head // (record.Hq // record.Hkv)) for head in record.heads]
        count, kv_heads = len(read), tensor.shape[1]
        if count % kv_heads == 0 and read == [i // (count // kv_heads) for i in range(count)]:
            return tensor
        return tensor[:, read]

    def __repr__(self) -> str:
        r = self._record
        heads = f"{r.Hq} heads" if r.Hq == r.Hkv else f"{r.Hq}/{r.Hkv} heads"
        heads = heads if r.heads is None else f"heads {','.join(map(str, r.heads))} of {r.Hq}"
        terms = [r.mask]
        if r.window is not None:
            terms.append(f"window {r.window[0]},{r.window[1]}")
        if r.softcap is not None:
            terms.append(f"softcap {r.softcap:g}")
        terms += [name for name in ("sinks", "slopes", "bias") if name in self._tensors]
        off = "" if r.error is None else f", |o − o′| {r.error.max:.1e}"
        size = f"{r.Tq} × {r.Tk}" if r.B == 1 else f"{r.B} of {r.Tq} × {r.Tk}"
        return f"<{r.name} {r.path or 'model'}: {size}, {heads}, D {r.D}, {r.dtype}, {', '.join(terms)}{off}>"


def _part(tensor: Array, start: tuple[int, int, int], count: tuple[int, int, int]) -> Array:
    """Of a mask, along axes that are not broadcast."""
    return tensor[tuple(slice(None) if tensor.shape[axis] == 1 else slice(start[axis], start[axis] + count[axis])
                        for axis in range(3))]


def _runs(rows: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """[begin, end) of `rows` that follow each other, in pieces of at most `most`."""
    begin = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or rows[end] != rows[end - 1] + 1 or end - begin == most:
            yield begin, end
            begin = end
