"""Arrays of other libraries: read and written where they lie, returned in kind, and refused in words that help."""

import ctypes
import subprocess
import sys
import types
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import qkv
from conftest import DLPack, normal

q, k, v = (normal(seed, 1, 2, 5, 4) for seed in (1, 2, 3))
WANT = qkv.attention(q, k, v)


class Tensor(ctypes.Structure):
    """DLTensor, as dlpack.h lays it out."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("byte_offset", ctypes.c_uint64)]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Tensor)]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Producer:
    """Nothing but DLPack 1.x: every capsule that it gives is kept in `asked`, after `change(versioned)` has had it."""

    device = (1, 0)

    def __init__(self, array, change=lambda versioned: None):
        self.array, self.change, self.asked = array, change, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, max_version=None, **options):
        if max_version is None:
            raise BufferError("this producer speaks DLPack 1.0 and later")
        capsule = self.array.__dlpack__(max_version=(1, 0))
        self.change(Versioned.from_address(_pointer(capsule, b"dltensor_versioned")))
        self.asked.append(max_version)
        return capsule


def test_a_versioned_capsule_is_read():
    producers = [Producer(array) for array in (q, k, v)]
    np.testing.assert_array_equal(qkv.attention(*producers), WANT)
    assert all(producer.asked for producer in producers)


def test_what_is_read_only_is_read_and_never_written():
    frozen = q.copy()
    frozen.flags.writeable = False
    for made in (DLPack, Producer):
        np.testing.assert_array_equal(qkv.attention(made(frozen), k, v), WANT)
        with pytest.raises(TypeError, match="^out is read-only"):
            qkv.attention(q, k, v, out=made(frozen))
    np.testing.assert_array_equal(frozen, q)


def test_an_out_of_another_library_is_written_where_it_lies():
    for made in (DLPack, Producer):
        memory = np.full_like(WANT, 7)
        out = made(memory)
        assert qkv.attention(q, k, v, out=out) is out
        np.testing.assert_array_equal(memory, WANT)


def test_strides_and_an_offset_in_bytes_are_those_of_the_capsule():
    wide = np.zeros((1, 2, 5, 9), np.float32)
    wide[..., 1::2] = q

    def later(versioned):
        versioned.tensor.data -= 4
        versioned.tensor.byte_offset = 4

    np.testing.assert_array_equal(qkv.attention(Producer(wide[..., 1::2], later), k, v), WANT)


def test_an_array_without_elements_has_no_memory_and_needs_none():
    def nowhere(versioned):
        versioned.tensor.data = None

    o = qkv.attention(Producer(q[:, :, :0], nowhere), k, v)
    assert o.shape == (1, 2, 0, 4)


def test_the_memory_of_a_device_is_refused_by_its_name():
    on_device = Producer(q)
    on_device.device = (2, 1)
    on_device.__class__ = type("Cuda", (Producer,), {"__dlpack__": lambda self, **options: 1 / 0})
    with pytest.raises(TypeError, match=r"^k is in the memory of a device \(CUDA, number 1\); expected an array in the "
                                        r"CPU's: copy it there first \(k.cpu\(\) in PyTorch\)"):
        qkv.attention(q, on_device, v)

    def claims(device_type):
        return lambda versioned: setattr(versioned.tensor, "device_type", device_type)

    for device_type, name in ((2, "CUDA"), (8, "Metal"), (99, "DLPack's type 99")):
        for call in (lambda array: qkv.attention(array, k, v), lambda array: qkv.attention(q, k, v, out=array)):
            with pytest.raises(TypeError, match=f"memory of a device .{name}, number 0"):
                call(Producer(q.copy(), claims(device_type)))
    for pinned in (3, 11):  # the CPU's memory, at a place that a GPU can read too
        np.testing.assert_array_equal(qkv.attention(Producer(q, claims(pinned)), k, v), WANT)


def test_what_a_producer_says_is_passed_on():
    class Broken(DLPack):
        def __dlpack__(self, **options):
            raise RuntimeError("the tensor is still being computed")

    with pytest.raises(TypeError, match="^v can't be read by DLPack: RuntimeError: the tensor is still being computed"):
        qkv.attention(q, k, Broken(v))
    Broken.__dlpack__ = lambda self, **options: "a capsule"
    with pytest.raises(TypeError, match="^v can't be read by DLPack: what it gave is no capsule"):
        qkv.attention(q, k, Broken(v))


def test_element_types_that_attention_does_not_have_are_refused():
    def is_complex(versioned):
        versioned.tensor.code = 5

    def has_lanes(versioned):
        versioned.tensor.lanes = 2

    for change in (is_complex, has_lanes):
        with pytest.raises(TypeError, match="^q is a Producer; expected an array"):
            qkv.attention(Producer(q, change), k, v)


def test_bfloat16_without_a_library_comes_back_as_ml_dtypes_own(monkeypatch):
    def is_bfloat16(versioned):
        versioned.tensor.code = 4

    halves = [array.astype(ml_dtypes.bfloat16) for array in (q, k, v)]
    inputs = [Producer(array.view(np.float16), is_bfloat16) for array in halves]
    o = qkv.attention(*inputs)
    assert o.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(o, qkv.attention(*halves))
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(TypeError, match="bfloat16, which NumPy has by ml_dtypes only; install it"):
        qkv.attention(*inputs)


def test_a_result_goes_to_the_library_whose_class_the_class_is_derived_from(monkeypatch):
    library = types.ModuleType("library")
    library.from_dlpack = lambda array: ("imported", np.from_dlpack(array))
    monkeypatch.setitem(sys.modules, "library", library)
    base = type("Array", (Producer,), {"__module__": "library.arrays"})
    mine = type("Mine", (base,), {"__module__": "elsewhere"})
    kind, o = qkv.attention(mine(q), mine(k), mine(v))
    assert kind == "imported"
    np.testing.assert_array_equal(o, WANT)
    spaced = type("Spaced", (Producer,), {"__array_namespace__": lambda self: library})
    assert qkv.attention(spaced(q), k, v)[0] == "imported"


GROWTH = """
import re, sys
import numpy as np
import qkv
sys.path.insert(0, {tests!r})
make = {make}
def peak():  # of this process alone: getrusage has that of the one which started it too
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) >> 10
q, k, v = (make(np.ones(shape, np.float32)) for shape in {shapes})
qkv.attention(*(make(np.ones((1, 1, 1, 1), np.float32)) for _ in range(3)))
before = peak()
o = qkv.attention(q, k, v, threads=1)
print(peak() - before)
"""


def growth(library, shapes):
    """MiB that the peak of a process's memory grows by in one call on arrays of a library."""
    make = {"numpy": "np.asarray", "dlpack": "__import__('conftest').DLPack",
            "torch": "__import__('torch').from_numpy", "jax": "__import__('jax').numpy.asarray"}[library]
    if library in ("torch", "jax"):
        pytest.importorskip(library)
    program = GROWTH.format(tests=str(Path(__file__).parent), make=make, shapes=shapes)
    return int(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)


LIBRARIES = ("numpy", "dlpack", "torch", "jax")


@pytest.mark.parametrize("library", LIBRARIES)
def test_inputs_are_not_copied(library):
    keys = 2**24  # k has 64 MiB, v 128
    assert growth(library, [(1, 1, 1, 1), (1, 1, keys, 1), (1, 1, keys, 2)]) < 50


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_result_is_made_once_and_handed_over(library):
    assert 250 < growth(library, [(1, 1, 2**20, 1), (1, 1, 1, 1), (1, 1, 1, 64)]) < 256 + 50  # o has 256 MiB


def test_tensors_of_pytorch_come_back_as_tensors_in_their_type():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        o, lse = qkv.attention(*(torch.from_numpy(array).to(dtype) for array in (q, k, v)), return_lse=True)
        assert isinstance(o, torch.Tensor) and o.dtype == dtype
        assert lse.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        np.testing.assert_allclose(o.double().numpy(), WANT, atol=0.05 if dtype.itemsize == 2 else 1e-6)
    out = torch.empty(WANT.shape)
    assert qkv.attention(q, k, v, out=out) is out
    np.testing.assert_array_equal(out.numpy(), WANT)
    mine = type("Mine", (torch.Tensor,), {})
    assert isinstance(qkv.attention(torch.from_numpy(q).as_subclass(mine), k, v), torch.Tensor)


def test_a_tensor_whose_memory_does_not_tell_all_is_refused_with_the_way_out():
    torch = pytest.importorskip("torch")
    leaf = torch.from_numpy(q.copy()).requires_grad_()
    for call in (lambda: qkv.attention(leaf, k, v), lambda: qkv.trace(leaf, k, v)):
        with pytest.raises(TypeError, match=r"^q requires a gradient, and this function records none; call that of "
                                            r"qkv\.torch, or give q\.detach\(\)"):
            call()
    with pytest.raises(TypeError, match="^out requires a gradient"):
        qkv.attention(q, k, v, out=leaf)
    np.testing.assert_array_equal(qkv.attention(leaf.detach(), k, v).numpy(), WANT)
    negative = torch.complex(torch.from_numpy(q), torch.from_numpy(-q)).conj().imag
    assert negative.is_neg()
    with pytest.raises(TypeError, match=r"^q is a view whose sign PyTorch has not changed yet; give q\.resolve_neg"):
        qkv.attention(negative, k, v)
    np.testing.assert_array_equal(qkv.attention(negative.resolve_neg(), k, v).numpy(), WANT)
    with pytest.raises(TypeError, match="^q can't be read by DLPack: .*meta"):
        qkv.attention(torch.empty(1, 2, 5, 4, device="meta"), k, v)
    with pytest.raises(TypeError, match="^q can't be read by DLPack: .*strided"):
        qkv.attention(torch.eye(4).to_sparse(), k, v)


def test_arrays_of_jax_come_back_as_arrays_of_jax_and_are_never_written():
    jax = pytest.importorskip("jax")
    for dtype in (jax.numpy.float32, jax.numpy.bfloat16):
        o = qkv.attention(*(jax.numpy.asarray(array, dtype) for array in (q, k, v)))
        assert isinstance(o, jax.Array) and o.dtype == dtype
        exact = 1e-6 if dtype == jax.numpy.float32 else 0.05
        np.testing.assert_allclose(np.asarray(o, np.float64), WANT, atol=exact)
    with pytest.raises(TypeError, match="^out is read-only"):
        qkv.attention(q, k, v, out=jax.numpy.zeros(WANT.shape))
