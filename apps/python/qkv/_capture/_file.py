"""A capture's file, mapped into memory: its document and its tensors, all checked before they are believed."""

from __future__ import annotations

import json
import mmap
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ._fields import CaptureError
from ._record import KEY, Record, Tokens, read_document

Array = np.ndarray[Any, Any]
Stored = tuple[str, tuple[int, ...], Array]  # safetensors' type, shape, bytes

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BOOL": "?"}


def read(path: Path) -> tuple[dict[str, Any], list[Tokens] | None, list[Record], dict[str, Stored]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="np") as file:  # checks the header: types, sizes, gaps and overlaps
            metadata = file.metadata() or {}
    except SafetensorError as error:
        raise CaptureError(f"it is no safetensors file, or a damaged one: {error}") from error
    if KEY not in metadata:
        raise CaptureError(f"it is a safetensors file without '{KEY}' in its metadata: qkv.capture did not write it")
    try:
        document = json.loads(metadata[KEY], parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise CaptureError(f"its '{KEY}' is not JSON: {error}") from error
    return *read_document(document), _mapped(path)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _mapped(path: Path) -> dict[str, Stored]:
    """Type, shape and bytes of every tensor; the header has been checked."""
    with path.open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    (length,) = struct.unpack_from("<Q", memory)
    header = json.loads(memory[8:8 + length])
    data = np.frombuffer(memory, np.uint8)[8 + length:]
    return {name: (entry["dtype"], tuple(entry["shape"]), data[slice(*entry["data_offsets"])])
            for name, entry in header.items() if name != "__metadata__"}


def tensors_of(record: Record, stored: dict[str, Stored]) -> dict[str, Array]:
    """The call's tensors by their short names. Raises CaptureError for one that is missing or of another shape."""
    expected = record.shapes()
    found = {}
    for suffix in (*expected, "keep", "bias"):
        name = f"{record.name}.{suffix}"
        if name not in stored:
            if suffix in expected or (suffix == "keep" and "dense" in record.kinds):
                raise CaptureError(f"it has no tensor '{name}', which its call asks for")
            continue
        dtype, shape, data = stored[name]
        if suffix in expected:
            fits = (dtype, shape) == expected[suffix]
            wanted = f"{expected[suffix][0]} {list(expected[suffix][1])}"
        else:
            full = record.scores_shape()
            fits = len(shape) == 4 and all(n in (1, m) for n, m in zip(shape, full)) and (
                (dtype == "BOOL") == (suffix == "keep")) and (dtype in (*_DTYPES, "BF16"))
            wanted = f"{'BOOL' if suffix == 'keep' else 'a floating type'}, broadcasting to {list(full)}"
        if not fits:
            raise CaptureError(f"tensor '{name}' is {dtype} {list(shape)}; expected {wanted}")
        if dtype == "BOOL" and data.size and int(data.max()) > 1:
            raise CaptureError(f"tensor '{name}' has the byte {int(data.max())} where a bool is 0 or 1")
        found[suffix] = _array(dtype, shape, data)
    return found


def _array(dtype: str, shape: tuple[int, ...], data: Array) -> Array:
    if dtype != "BF16":
        return data.view(_DTYPES[dtype]).reshape(shape)
    try:
        import ml_dtypes
    except ImportError as error:
        raise CaptureError("it holds bfloat16, which NumPy does not have: pip install ml_dtypes") from error
    return data.view(ml_dtypes.bfloat16).reshape(shape)
