"""Matrix product, softmax over all of a head's scores, matrix product: OpenBLAS's sgemm and oneDNN's primitives."""

from __future__ import annotations

import ctypes
import weakref
from pathlib import Path

import numpy as np

from .cases import Case, ProductCase
from .timed import NotOffered, Timed

I64 = ctypes.c_int64


class Shape(ctypes.Structure):
    _fields_ = [(name, I64) for name in ("batch", "query_heads", "kv_heads", "query_length", "key_length", "width",
                                         "value_width")]
    _fields_ += [("causal", ctypes.c_int), ("threads", ctypes.c_int), ("is_bf16", ctypes.c_int)]


class Tensors(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("q", "k", "v", "d_o", "o", "dq", "dk", "dv")]


def shape_of(case: Case, threads: int) -> Shape:
    p = case.problem
    return Shape(p.batch, p.query_heads, p.kv_heads, p.query_length, p.key_length, p.width, p.value_width,
                 int(p.causal), threads, int(p.dtype == "bf16"))


def stored(array: np.ndarray, half: bool) -> np.ndarray:
    """bf16 as its bits."""
    return (array.view(np.uint32) >> 16).astype(np.uint16) if half else np.ascontiguousarray(array)


def widened(array: np.ndarray, half: bool) -> np.ndarray:
    return (array.astype(np.uint32) << 16).view(np.float32) if half else array


class Arrays:
    """The tensors of a call, alive as long as it is."""

    def __init__(self, case: Case, backward: bool):
        self.half = case.problem.dtype == "bf16"
        inputs = {"q": case.q, "k": case.k, "v": case.v}
        if backward:
            inputs["d_o"] = case.d_o
        self.arrays = {name: stored(array, self.half) for name, array in inputs.items()}
        o = np.empty((*case.q.shape[:3], case.problem.value_width), dtype=np.float32)
        self.arrays["o"] = stored(o, self.half)
        if backward:
            self.arrays |= {"d" + name: np.empty(array.shape, dtype=np.float32)
                            for name, array in (("q", case.q), ("k", case.k), ("v", case.v))}
        self.tensors = Tensors(**{name: array.ctypes.data for name, array in self.arrays.items()})

    def outputs(self) -> dict[str, np.ndarray]:
        found = {name: self.arrays[name] for name in ("o", "dq", "dk", "dv") if name in self.arrays}
        found["o"] = widened(found["o"], self.half)
        return found


def refuse(pass_name: str, case: Case) -> None:
    p = case.problem
    if pass_name not in ("forward", "forward_backward", "decode"):
        raise NotOffered(f"no {pass_name}")
    if p.left >= 0:
        raise NotOffered("no window")
    if p.key_length * p.query_length > 4096 * 4096:
        raise NotOffered("materialises the scores of a head")


class OpenBlas:
    name = "OpenBLAS unfused"

    def __init__(self, folder: Path):
        import scipy_openblas32

        blas = ctypes.CDLL(str(Path(scipy_openblas32.get_lib_dir()) / "libscipy_openblas.so"))
        blas.scipy_openblas_get_config.restype = blas.scipy_openblas_get_corename.restype = ctypes.c_char_p
        self.set_threads = blas.scipy_openblas_set_num_threads
        config = blas.scipy_openblas_get_config().decode().split()
        self.version = f"{config[1]}, kernel {blas.scipy_openblas_get_corename().decode()}"
        self.sgemm = ctypes.cast(blas.scipy_cblas_sgemm, ctypes.c_void_p)
        self.library = ctypes.CDLL(str(folder / "libunfused_blas.so"))
        self.library.unfused_attention.argtypes = [ctypes.c_void_p] * 3

    def prepare(self, pass_name: str, case: Case, threads: int) -> Timed:
        if case.problem.dtype != "f32":
            raise NotOffered("f32 only")
        if pass_name == "project":
            return self.product(case, threads)
        refuse(pass_name, case)
        self.set_threads(1)  # the heads are what runs in parallel
        shape, arrays = shape_of(case, threads), Arrays(case, pass_name == "forward_backward")
        call = self.library.unfused_attention
        pointers = (self.sgemm, ctypes.addressof(shape), ctypes.addressof(arrays.tensors))
        return Timed(lambda keep=shape: call(*pointers), arrays.outputs)


    def product(self, case: ProductCase, threads: int) -> Timed:
        """sgemm on top of the bias."""
        self.set_threads(threads)
        x, w = case.x, case.w
        (m, c), e = x.shape, w.shape[1]
        bias = np.broadcast_to(case.b, (m, e))
        y = np.empty((m, e), dtype=np.float32)
        real, integer, pointer = ctypes.c_float, ctypes.c_int, ctypes.c_void_p
        sgemm = ctypes.CFUNCTYPE(None, *[integer] * 6, real, pointer, integer, pointer, integer, real, pointer,
                                 integer)(self.sgemm.value)
        arguments = (101, 111, 111, m, e, c, 1.0, x.ctypes.data, c, w.ctypes.data, e, 1.0, y.ctypes.data, e)

        def run() -> None:
            np.copyto(y, bias)
            sgemm(*arguments)

        return Timed(run, lambda: {"y": y})


class OneDnn:
    name = "oneDNN unfused"

    def __init__(self, folder: Path):
        self.library = ctypes.CDLL(str(folder / "libunfused_onednn.so"))
        self.library.onednn_error.restype = self.library.onednn_version.restype = ctypes.c_char_p
        self.library.onednn_attention.restype = ctypes.c_void_p
        self.library.onednn_attention.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self.library.onednn_run.argtypes = [ctypes.c_void_p] * 2
        self.library.onednn_free.argtypes = [ctypes.c_void_p]
        self.library.onednn_product.restype = ctypes.c_void_p
        self.library.onednn_product.argtypes = [I64, I64, I64, ctypes.c_int]
        self.library.onednn_run_product.argtypes = [ctypes.c_void_p] * 5
        self.library.onednn_free_product.argtypes = [ctypes.c_void_p]
        self.version = self.library.onednn_version().decode()

    def prepare(self, pass_name: str, case: Case, threads: int) -> Timed:
        if pass_name == "project":
            return self.product(case)
        refuse(pass_name, case)
        backward = pass_name == "forward_backward"
        shape, arrays = shape_of(case, threads), Arrays(case, backward)
        handle = self.library.onednn_attention(ctypes.byref(shape), int(backward))
        if not handle:
            raise NotOffered(self.library.onednn_error().decode())
        weakref.finalize(arrays, self.library.onednn_free, handle)
        run, tensors = self.library.onednn_run, ctypes.addressof(arrays.tensors)
        return Timed(lambda: run(handle, tensors), arrays.outputs)

    def product(self, case: ProductCase) -> Timed:
        """One matmul primitive with its bias, on the threads of the process."""
        half = case.problem.dtype == "bf16"
        x, w, b = (stored(array, half) for array in (case.x, case.w, case.b))
        (m, c), e = x.shape, w.shape[1]
        y = np.empty((m, e), dtype=x.dtype)
        handle = self.library.onednn_product(m, e, c, int(half))
        if not handle:
            raise NotOffered(self.library.onednn_error().decode())
        weakref.finalize(y, self.library.onednn_free_product, handle)
        run, pointers = self.library.onednn_run_product, [array.ctypes.data for array in (x, w, b, y)]
        return Timed(lambda keep=(x, w, b): run(handle, *pointers), lambda: {"y": widened(y, half)})
