"""qkv by way of the C functions that wrap the runner of `qkv bench`, and the machine's ceilings."""

from __future__ import annotations

import ctypes
from pathlib import Path

from .cases import Case
from .timed import NotOffered, Timed

REAL, INT, POINTER, TEXT = ctypes.c_double, ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p
SIGNATURES = {
    "error": (TEXT, []),
    "target": (TEXT, []),
    "fma_peak": (REAL, [REAL, INT]),
    "read_loop": (POINTER, [REAL]),
    "read_rate": (REAL, [POINTER, REAL, INT]),
    "free_read_loop": (None, [POINTER]),
    "subject": (POINTER, [TEXT, TEXT]),
    "free_subject": (None, [POINTER]),
    "check": (REAL, [POINTER, INT]),
    "call": (INT, [POINTER, INT]),
    "flops": (REAL, [POINTER, INT]),
    "bytes": (REAL, [POINTER]),
}


class Native:
    """The library; one a process."""

    def __init__(self, path: Path):
        library = ctypes.CDLL(str(path))
        for name, (result, arguments) in SIGNATURES.items():
            function = getattr(library, f"qkv_bench_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def message(self) -> str:
        return self.error().decode()


class Subject:
    """One pass on one problem."""

    def __init__(self, native: Native, pass_name: str, line: str, threads: int):
        self.native, self.threads = native, threads
        self.handle = native.subject(pass_name.encode(), line.encode())
        if not self.handle:
            raise NotOffered(native.message())
        self.error = native.check(self.handle, threads)
        if self.error < 0:
            raise NotOffered(native.message())
        self.flops = native.flops(self.handle, threads)
        self.bytes = native.bytes(self.handle)

    def timed(self) -> Timed:
        call, handle, threads = self.native.call, self.handle, self.threads
        return Timed(lambda: call(handle, threads), dict, self.error)

    def free(self) -> None:
        self.native.free_subject(self.handle)


class Ceiling:
    """FMA peak, or the bandwidth of reading as much memory as a call does; flops or bytes a second."""

    def __init__(self, native: Native, bytes_of_call: float, threads: int):
        self.native, self.threads = native, threads
        self.loop = native.read_loop(bytes_of_call) if bytes_of_call > 0 else None

    def measure(self, seconds: float = 0.03) -> float:
        if self.loop:
            return self.native.read_rate(self.loop, seconds, self.threads)
        return self.native.fma_peak(seconds, self.threads)

    def free(self) -> None:
        if self.loop:
            self.native.free_read_loop(self.loop)


class FromPython:
    """The Python module, whose call costs more than a small problem."""

    name = "qkv from Python"

    def __init__(self) -> None:
        import qkv

        self.module = qkv
        self.version = qkv.__version__

    def prepare(self, pass_name: str, case: Case, threads: int) -> Timed:
        import numpy as np

        p = case.problem
        if pass_name != "forward" or p.dtype != "f32" or p.left >= 0 or p.pairs * p.query_heads > 1e6:
            raise NotOffered("asked for small forward calls only")
        o = np.empty((p.batch, p.query_heads, p.query_length, p.value_width), dtype=np.float32)
        attention, q, k, v = self.module.attention, case.q, case.k, case.v
        causal = p.causal

        def run() -> None:
            attention(q, k, v, causal=causal, threads=threads, out=o)

        return Timed(run, lambda: {"o": o})
