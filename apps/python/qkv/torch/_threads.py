"""PyTorch's threads for qkv's work: two pools side by side would spin on each other's CPUs."""

from __future__ import annotations

import contextlib
import ctypes
from pathlib import Path

import torch

from .. import _core


def share() -> None:
    """Lets every call of qkv in this process run on the OpenMP threads that PyTorch has.

    A short attention between two matrix products takes half the time then (docs/python.md). Where PyTorch is built
    without OpenMP, qkv keeps its own threads.
    """
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    with contextlib.suppress(OSError, AttributeError):
        entry = ctypes.CDLL(str(library)).GOMP_parallel  # in the OpenMP library that PyTorch itself was linked to
        _core.use_openmp(ctypes.cast(entry, ctypes.c_void_p).value or 0)
