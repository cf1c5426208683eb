"""The recording of a model's attention while it runs: each call is reduced, checked, and written at once."""

from __future__ import annotations

import fnmatch
import json
import os
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .._core import __version__
from . import _tokens
from ._fields import CaptureError
from ._heads import pick, without_repeats
from ._open import Capture
from ._open import open as open_capture
from ._record import KEY, VERSION, Record, Tokens
from ._self_check import Picked, check, hints_of, rows_of, seeing
from ._sequences import Sequences
from ._terms import Masks, Terms, compact
from ._watch import Seen, Watch
from ._writer import TensorWriter

_DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16"}


class Recording:
    """What `qkv.capture` gives for a `with` block.

    It records inside, and writes the file at its end.

    calls         the calls so far, as `qkv.open` gives their facts (layer,
                  path, sizes, error)
    capture       after the block: the file, opened
    """

    def __init__(self, model: nn.Module, path: str | os.PathLike[str] | None, *, tokenizer: Any,
                 tokens: Sequence[Any] | None, layers: Sequence[int | str] | None, heads: Sequence[int] | None,
                 values: bool, mask_bytes: int, progress: bool | Callable[[Any], None]) -> None:
        self.calls: list[Record] = []
        self.capture: Capture | None = None
        self.model, self.path, self.tokenizer = model, path, tokenizer
        self._layers, self._heads, self._values = layers, heads, values
        self._tokens = _given_tokens(tokens)
        self._progress = progress
        self._masks = Masks(mask_bytes)
        self._sequences = Sequences(
            (len(self._tokens), len(self._tokens[0].pieces)) if self._tokens else None)
        self._encoded: list[Tokens] | None = None
        self._lock = threading.Lock()
        self._bytes = 0

    def __enter__(self) -> Recording:
        if self.calls or self.capture is not None:
            raise CaptureError("a recording is for one `with` block; call qkv.capture again")
        self._writer = TensorWriter(self.path if self.path is not None else _temporary_path())
        self._watch = Watch(self.model, self._wants, self._take)
        try:
            self._watch.__enter__()
        except BaseException:
            self._writer.discard()
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._watch.__exit__(kind, error, trace)
        if self._progress is True and sys.stderr.isatty():
            print(file=sys.stderr)
        try:
            if error is None:
                self._finish()
        finally:
            self._writer.discard()
            del self._watch, self._writer  # a circle that would keep a temporary file alive

    def __repr__(self) -> str:
        if self.capture is not None:
            return f"<qkv.capture, done: {self.capture!r}>"
        return f"<qkv.capture of {type(self.model).__name__}, {len(self.calls)} calls so far; it records inside `with`>"

    def set_text(self, encoded: list[Tokens]) -> None:
        """The tokens of the text that is about to be run, with the tokenizer's own offsets."""
        self._encoded = encoded

    def _wants(self, order: int, layer: int | None, path: str) -> bool:
        if self._layers is None:
            return True
        return any(layer == one if isinstance(one, int) else fnmatch.fnmatchcase(path, one) for one in self._layers)

    def _take(self, order: int, seen: Seen) -> None:
        with torch.no_grad(), self._lock:
            record = self._record(order, seen)
        self.calls.append(record)
        if callable(self._progress):
            self._progress(record)
        elif self._progress and sys.stderr.isatty():
            print(f"\r\x1b[K{len(self.calls)} calls, {self._bytes / 2**20:.0f} MiB: {record.path}", end="",
                  file=sys.stderr, flush=True)

    def _record(self, order: int, seen: Seen) -> Record:
        _expect_readable(seen)
        key, value = without_repeats(seen.query, seen.key, seen.value)
        terms = compact(seen.query, key, seen.options, seen.masks, self._masks, seen.sliding_window)
        heads = pick(self._heads, seen.query.shape[1], key.shape[1])
        rows = rows_of(seen.query.shape[2])
        picked = Picked(heads.pick_query(seen.query), heads.pick_kv(key), heads.pick_kv(value),
                        heads.pick_query(seen.o)[:, :, rows], rows, heads.groups())
        if heads.query is not None:
            terms = terms.of_heads(heads.query)
        picked = seeing(picked, terms)
        error = check(picked, terms, hints_of(seen.module, heads.query))
        batch, of_query, queries, width = seen.query.shape
        keys = key.shape[2]
        start = self._sequences.place(seen.frame, seen.is_cross, (batch, queries, keys), terms.offset)
        record = Record(
            name=f"C{order:04}", order=order, layer=seen.layer, path=seen.path, way=seen.way, B=batch, Hq=of_query,
            Hkv=key.shape[1], Tq=queries, Tk=keys, D=width, Dv=value.shape[3], dtype=_DTYPES[seen.query.dtype],
            heads=heads.query, kv_heads=heads.kv, values=self._values, scale=terms.scale, softcap=terms.softcap,
            sinks=terms.sinks is not None, slopes=terms.slopes is not None, causal=terms.causal, corner=terms.corner,
            offset=terms.offset, window=None if terms.window is None else list(terms.window), mask=terms.kinds,
            tokens=start is not None, query_start=start or 0, rows=picked.rows if self._values else None, error=error)
        self._write(record.name, picked, terms)
        return record

    def _write(self, name: str, picked: Picked, terms: Terms) -> None:
        tensors: dict[str, Tensor | None] = {
            "q": picked.q, "k": picked.k, "keep": terms.keep, "bias": terms.bias, "key_mask": terms.key_mask,
            "slopes": terms.slopes, "sinks": terms.sinks}
        if self._values:
            tensors |= {"v": picked.v, "o": picked.o.to(picked.q.dtype)}
        for suffix, tensor in tensors.items():
            if tensor is not None:
                self._bytes += self._writer.add(f"{name}.{suffix}", tensor)

    def _finish(self) -> None:
        if not self.calls:
            raise CaptureError(_nothing(self._watch, self._layers))
        self._expect_tokens_used()
        document = {"version": VERSION, "qkv": __version__, "model": _facts(self.model),
                    "tokens": self._all_tokens(), "calls": [record.to_json() for record in self.calls]}
        self._writer.finish({KEY: json.dumps(document, ensure_ascii=False, allow_nan=False)})
        self.capture = open_capture(self._writer.path)
        if self.path is None:  # its memory stays mapped while the capture lives
            weakref.finalize(self.capture, self._writer.path.unlink, missing_ok=True)
        for missed in dict.fromkeys(self._watch.missed):
            import warnings

            warnings.warn(f"qkv.capture: not captured: {missed}", stacklevel=3)

    def _expect_tokens_used(self) -> None:
        if self._tokens is not None and not any(record.tokens for record in self.calls):
            sizes = sorted({(record.B, record.Tk) for record in self.calls})
            raise CaptureError(f"tokens names {len(self._tokens)} sequences of {len(self._tokens[0].pieces)} tokens, "
                               f"and no call has those: there are calls of {sizes[:5]} (batch, keys)")

    def _all_tokens(self) -> list[dict[str, Any]] | None:
        ids = self._sequences.lists()
        found = self._tokens
        if found is not None and ids is not None and [len(x.pieces) for x in found] == [len(row) for row in ids]:
            found = [_tokens.from_pieces(one.pieces, row) for one, row in zip(found, ids)]
        if found is None and ids is not None and self._encoded is not None and [x.ids for x in self._encoded] == ids:
            found = self._encoded
        if found is None and ids is not None and self.tokenizer is not None:
            found = [_tokens.from_ids(self.tokenizer, row) for row in ids]
        return None if found is None else [vars(one) for one in found]


def _given_tokens(tokens: Sequence[Any] | None) -> list[Tokens] | None:
    if not tokens:
        return None
    rows = [tokens] if isinstance(tokens[0], str) else tokens
    return [_tokens.from_pieces(row) for row in rows]


def _temporary_path() -> Path:
    return Path(tempfile.gettempdir()) / f"qkv-capture-{os.getpid()}-{os.urandom(4).hex()}.safetensors"


def _facts(model: nn.Module) -> dict[str, Any]:
    transformers = sys.modules.get("transformers")
    name = getattr(getattr(model, "config", None), "_name_or_path", None) or None
    kind = type(getattr(model, "_orig_mod", model)).__name__
    return {"name": kind if name is None else Path(name).name if Path(name).is_dir() else name,  # no private path
            "class": kind, "torch": str(torch.__version__),
            "transformers": getattr(transformers, "__version__", None)}


def _expect_readable(seen: Seen) -> None:
    """Raises for what no option of qkv stands for."""
    if seen.dropout:
        raise CaptureError(f"has dropout {seen.dropout}, which no two runs share: call model.eval() first")
    tensors = (seen.query, seen.key, seen.value)
    if any(x.ndim != 4 for x in tensors) or seen.o.shape[:3] != seen.query.shape[:3]:
        raise CaptureError(f"has q {list(seen.query.shape)}, k {list(seen.key.shape)} and o {list(seen.o.shape)}; "
                           "expected [B,H,T,D] each")
    if len({x.dtype for x in tensors}) > 1 or seen.query.dtype not in _DTYPES:
        raise CaptureError(f"has the types {', '.join(str(x.dtype) for x in tensors)}; expected one of float64, "
                           "float32, bfloat16 and float16")
    if seen.query.device.type == "meta":
        raise CaptureError("is on the device 'meta', which holds no numbers")
    batch, heads, _, width = seen.query.shape
    if seen.key.shape[0] != batch or seen.key.shape[3] != width or not seen.key.shape[1] or heads % seen.key.shape[1]:
        raise CaptureError(f"has q {list(seen.query.shape)} and k {list(seen.key.shape)}; expected the same batch and "
                           "width, and a number of KV heads that divides that of query heads")


def _nothing(watch: Watch, layers: Sequence[Any] | None) -> str:
    if watch.count:
        return (f"none of the model's {watch.count} attention calls was picked: layers={list(layers or ())}; give "
                "layer numbers, or patterns of module paths such as '*.self_attn'")
    reasons = "; ".join(dict.fromkeys(watch.missed)) or (
        "was it called inside the block? Seen are calls of Hugging Face's attention interface (transformers 5) and of "
        "torch.nn.functional.scaled_dot_product_attention. Not seen are attention written out by hand, flash_attn, "
        "xformers, what qkv.torch.use() takes over inside the block (enter it before), and compiled code: run the "
        "model eagerly, without torch.jit, torch.export and CUDA graphs, and load it with attn_implementation='sdpa' "
        "where there is a choice")
    return f"nothing was captured: the model made no attention call that can be seen. {reasons}"
