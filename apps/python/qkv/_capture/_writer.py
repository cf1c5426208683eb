"""Writes a safetensors file whose tensors come one by one: to nameless files first, since the header needs them all."""

from __future__ import annotations

import json
import os
import shutil
import stat
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import torch
from torch import Tensor

from ._fields import CaptureError

_DTYPES = {torch.float64: "F64", torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16", torch.bool: "BOOL"}
_CHUNK = 8 << 20  # bytes that are made contiguous at once
_ALIGNMENT = 64  # of the file's data


class TensorWriter:
    """Appends tensors, then makes the whole file appear under its name; until then there is nothing under any name.

    Bodies are kept by the width of their elements, widest first, so that every tensor is aligned although the format
    allows no gaps. Costs twice the file's size on its disk while it is put together. Raises CaptureError with the
    system's reason (no such folder, disk full).
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.realpath(path))  # a symbolic link stays one
        if self.path.exists() and not self.path.is_file():
            raise CaptureError(f"cannot write {path}: it is there and is no regular file")
        if not self.path.parent.is_dir():
            raise CaptureError(f"cannot write {path}: there is no folder {self.path.parent}")
        self._entries: dict[int, list[tuple[str, str, list[int], int]]] = {}
        self._bodies: dict[int, BinaryIO] = {}
        with self._system_errors():
            self._body(8)  # a folder that cannot be written to is told before the model runs

    def _system_errors(self) -> _SystemErrors:
        return _SystemErrors(self.path)

    def _body(self, width: int) -> BinaryIO:
        if width not in self._bodies:
            self._bodies[width] = tempfile.TemporaryFile(dir=self.path.parent)
            self._entries[width] = []
        return self._bodies[width]

    def add(self, name: str, tensor: Tensor) -> int:
        """Appends a tensor of any strides; returns its bytes."""
        width = tensor.element_size()
        with self._system_errors():
            body = self._body(width)
            for chunk in _chunks(tensor):
                body.write(chunk)
        size = tensor.numel() * width
        self._entries[width].append((name, _DTYPES[tensor.dtype], list(tensor.shape), size))
        return size

    def finish(self, metadata: dict[str, str]) -> None:
        """Puts the file together beside its place and renames it."""
        widths = sorted(self._bodies, reverse=True)
        header: dict[str, object] = {"__metadata__": metadata}
        at = 0
        for width in widths:
            for name, dtype, shape, size in self._entries[width]:
                header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
                at += size
        text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
        text += b" " * (-(8 + len(text)) % _ALIGNMENT)
        unfinished = self.path.with_name(f".{self.path.name}.qkv-{os.getpid()}")
        with self._system_errors():
            try:
                with open(unfinished, "xb") as out:
                    if self.path.exists():
                        os.fchmod(out.fileno(), stat.S_IMODE(self.path.stat().st_mode))
                    out.write(struct.pack("<Q", len(text)) + text)
                    for width in widths:
                        self._bodies[width].seek(0)
                        shutil.copyfileobj(self._bodies[width], out, _CHUNK)
                    out.flush()
                    os.fsync(out.fileno())
                unfinished.replace(self.path)
            finally:
                unfinished.unlink(missing_ok=True)
        self.discard()

    def discard(self) -> None:
        """Gives up what was appended."""
        for body in self._bodies.values():
            body.close()
        self._bodies.clear()


class _SystemErrors:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise CaptureError(f"cannot write {self.path}: {error.strerror or error}") from error


def _chunks(tensor: Tensor) -> Iterator[memoryview]:
    if tensor.numel() == 0:
        return
    if tensor.numel() * tensor.element_size() > _CHUNK and tensor.ndim > 1:
        for part in tensor:
            yield from _chunks(part)
        return
    yield tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data
