"""What a capture says in words: the JSON of docs/capture.md, one class a thing, every field checked when it is read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ._fields import CaptureError, Fields, a_flag, a_list, a_number, a_text, an_integer, maybe, one_of

VERSION = 1
KEY = "qkv.capture"  # of the file's metadata
KINDS = ("none", "causal", "window", "padding", "dense")
DTYPES = {"f64": "F64", "f32": "F32", "bf16": "BF16", "f16": "F16"}  # here and in safetensors
_MOST = 1 << 40  # of any extent: products of four of them are compared with the file's size, not trusted


@dataclass(frozen=True)
class Error:
    """The self-check: the largest |o − o′| over the rows that were recomputed, and the most that is allowed."""

    max: float
    allowed: float

    @classmethod
    def read(cls, where: str, given: Any) -> Error:
        fields = Fields(where, given)
        return cls(fields.take("max", a_number(0)), fields.take("allowed", a_number(0)))


@dataclass(frozen=True)
class Tokens:
    """A batch row's tokens: readable pieces, and where each lies in `text` (in characters; whole graphemes)."""

    text: str
    ids: list[int]
    pieces: list[str]
    offsets: list[list[int]]

    @classmethod
    def read(cls, where: str, given: Any) -> Tokens:
        fields = Fields(where, given)
        text = fields.take("text", a_text)
        found = cls(text, fields.take("ids", a_list(an_integer(0, (1 << 63) - 1))),
                    fields.take("pieces", a_list(a_text)),
                    fields.take("offsets", a_list(a_list(an_integer(0, len(text)), 2))))
        if not len(found.pieces) == len(found.offsets) == len(found.ids):
            raise CaptureError(f"{where} has {len(found.pieces)} pieces and {len(found.offsets)} offsets; expected as "
                               f"many as ids")
        return found


@dataclass(frozen=True)
class Record:
    """An attention call. Fields as in docs/capture.md; the tensors' names begin with `name`."""

    name: str
    order: int
    layer: int | None
    path: str
    way: str
    B: int
    Hq: int
    Hkv: int
    Tq: int
    Tk: int
    D: int
    Dv: int
    dtype: str
    heads: list[int] | None
    kv_heads: list[int] | None
    values: bool
    scale: float
    softcap: float | None
    sinks: bool
    slopes: bool
    causal: bool
    corner: str | None
    offset: int | None
    window: list[int] | None
    mask: str
    tokens: bool
    query_start: int
    rows: list[int] | None
    error: Error | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def kinds(self) -> list[str]:
        return self.mask.split("+")

    @property
    def stored_heads(self) -> list[int]:
        return list(range(self.Hq)) if self.heads is None else self.heads

    @property
    def stored_kv_heads(self) -> list[int]:
        return list(range(self.Hkv)) if self.kv_heads is None else self.kv_heads

    def shapes(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """The tensors that the call must have: safetensors' type and the shape."""
        heads, kv_heads = len(self.stored_heads), len(self.stored_kv_heads)
        dtype = DTYPES[self.dtype]
        expected = {"q": (dtype, (self.B, heads, self.Tq, self.D)), "k": (dtype, (self.B, kv_heads, self.Tk, self.D))}
        if self.values:
            expected["v"] = (dtype, (self.B, kv_heads, self.Tk, self.Dv))
            expected["o"] = (dtype, (self.B, heads, len(self.rows or ()), self.Dv))
        if self.sinks:
            expected["sinks"] = ("F32", (heads,))
        if self.slopes:
            expected["slopes"] = ("F32", (heads,))
        if "padding" in self.kinds:
            expected["key_mask"] = ("BOOL", (self.B, self.Tk))
        return expected

    def scores_shape(self) -> tuple[int, int, int, int]:
        """What `keep` and `bias` broadcast to."""
        return self.B, len(self.stored_heads), self.Tq, self.Tk

    @classmethod
    def read(cls, where: str, given: Any) -> Record:
        fields = Fields(where, given)
        extent, index = an_integer(0, _MOST), an_integer(0, _MOST)
        heads = maybe(a_list(index))
        found = cls(
            name=fields.take("name", a_text), order=fields.take("order", index),
            layer=fields.take("layer", maybe(index)), path=fields.take("path", a_text), way=fields.take("way", a_text),
            B=fields.take("B", extent), Hq=fields.take("Hq", extent), Hkv=fields.take("Hkv", extent),
            Tq=fields.take("Tq", extent), Tk=fields.take("Tk", extent), D=fields.take("D", extent),
            Dv=fields.take("Dv", extent), dtype=fields.take("dtype", one_of(*DTYPES)),
            heads=fields.take("heads", heads), kv_heads=fields.take("kv_heads", heads),
            values=fields.take("values", a_flag), scale=fields.take("scale", a_number()),
            softcap=fields.take("softcap", maybe(a_number(0))), sinks=fields.take("sinks", a_flag),
            slopes=fields.take("slopes", a_flag), causal=fields.take("causal", a_flag),
            corner=fields.take("corner", maybe(one_of("top_left", "bottom_right"))),
            offset=fields.take("offset", maybe(an_integer(-_MOST, _MOST))),
            window=fields.take("window", maybe(a_list(an_integer(-1, _MOST), 2))), mask=fields.take("mask", a_text),
            tokens=fields.take("tokens", a_flag), query_start=fields.take("query_start", index),
            rows=fields.take("rows", maybe(a_list(index))),
            error=None if fields.take("error", lambda _, value: value) is None
            else Error.read(f"{where}.error", given["error"]))
        found._agree(where)
        return found

    def _agree(self, where: str) -> None:
        """Raises for fields that contradict each other."""

        def expect(holds: bool, message: str) -> None:
            if not holds:
                raise CaptureError(f"{where} {message}")

        expect(all(kind in KINDS for kind in self.kinds), f"has the mask {self.mask!r}; expected some of {KINDS}")
        expect(self.Hkv > 0 and self.Hq % self.Hkv == 0, f"has Hq {self.Hq}, which Hkv {self.Hkv} does not divide")
        expect(self.softcap is None or self.softcap > 0, "has the softcap 0; expected a number above 0, or null")
        expect(self.D > 0 and self.Dv > 0, f"has D {self.D} and Dv {self.Dv}; expected more than 0")
        positions = self.causal or self.window is not None or self.slopes
        expect(self.offset is not None or not positions, "is causal, or has a window or slopes, and no offset")
        expect((self.heads is None) == (self.kv_heads is None), "has only one of heads and kv_heads")
        heads, kv_heads = self.stored_heads, self.stored_kv_heads
        expect(0 < len(set(heads)) == len(heads) and max(heads) < self.Hq, f"has heads {heads}; Hq is {self.Hq}")
        read = {head // (self.Hq // self.Hkv) for head in heads}
        expect(set(kv_heads) == read and len(kv_heads) == len(read), f"has kv_heads {kv_heads}; its heads read {read}")
        expect(all(row < self.Tq for row in self.rows or ()), f"has the rows {self.rows}; Tq is {self.Tq}")
        expect(not self.values or self.rows is not None, "has values and no rows")


def read_document(given: Any) -> tuple[dict[str, Any], list[Tokens] | None, list[Record]]:
    """The model, the tokens and the calls. Raises CaptureError that names the field."""
    fields = Fields("the capture", given)
    version = fields.take("version", an_integer(0, _MOST))
    if version != VERSION:
        raise CaptureError(f"is of version {version}; this qkv reads version {VERSION}")
    model = fields.take("model", lambda where, value: dict(Fields(where, value).values))
    calls = fields.take("calls", lambda where, value: [
        Record.read(f"{where}[{i}]", one) for i, one in enumerate(a_list(lambda _, x: x)(where, value))])
    if len({call.name for call in calls}) != len(calls):
        raise CaptureError("has two calls of one name")
    tokens = fields.take("tokens", maybe(lambda where, value: [
        Tokens.read(f"{where}[{i}]", one) for i, one in enumerate(a_list(lambda _, x: x)(where, value))]))
    for call in calls:
        lengths = {len(one.pieces) for one in tokens or ()}
        if call.tokens and tokens is not None and (
                len(tokens) != call.B or any(n < call.query_start + call.Tq for n in lengths)):
            last = call.query_start + call.Tq - 1
            raise CaptureError(f"call {call.name} has queries {call.query_start} to {last} of {call.B} sequences; "
                               f"there are tokens for {len(tokens)}, of {sorted(lengths)} each")
    return model, tokens, calls
