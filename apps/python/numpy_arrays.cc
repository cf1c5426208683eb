// The only file that knows NumPy's C interface: an array is a few fields to read, where DLPack is a protocol to speak.
#include "apps/python/numpy_arrays.h"

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include <array>
#include <optional>

namespace qkv::python {
namespace {

PyArrayObject* as_array(nb::handle object) { return reinterpret_cast<PyArrayObject*>(object.ptr()); }

// ml_dtypes registers its bfloat16 with NumPy at run time, so it has a name but no number of its own.
bool is_bf16(const PyArray_Descr* type) {
  const nb::object name = nb::steal(PyType_GetName(type->typeobj));
  return PyUnicode_CompareWithASCIIString(name.ptr(), "bfloat16") == 0;
}

std::optional<DType> dtype_of_array(PyArrayObject* array) {
  const PyArray_Descr* type = PyArray_DESCR(array);
  if (!PyArray_ISNOTSWAPPED(array)) return std::nullopt;
  if (type->type_num >= NPY_USERDEF) return is_bf16(type) ? std::optional(DType::kBF16) : std::nullopt;
  const npy_intp bytes = PyArray_ITEMSIZE(array);
  switch (type->kind) {
    case 'f':
      if (bytes == 8) return DType::kF64;
      if (bytes == 4) return DType::kF32;
      if (bytes == 2) return DType::kF16;
      return std::nullopt;
    case 'i':
      if (bytes == 8) return DType::kI64;
      if (bytes == 4) return DType::kI32;
      return std::nullopt;
    case 'b': return DType::kBool;
    case 'u': return bytes == 1 ? std::optional(DType::kU8) : std::nullopt;
    default: return std::nullopt;
  }
}

int number_of(DType dtype) {
  switch (dtype) {
    case DType::kF64: return NPY_FLOAT64;
    case DType::kF32: return NPY_FLOAT32;
    case DType::kF16: return NPY_FLOAT16;
    case DType::kBool: return NPY_BOOL;
    case DType::kI32: return NPY_INT32;
    case DType::kI64: return NPY_INT64;
    default: return NPY_UINT8;
  }
}

PyArray_Descr* numpy_type(DType dtype, nb::handle like) {
  if (dtype == DType::kBF16) {
    PyArray_Descr* type = PyArray_DESCR(as_array(like));
    Py_INCREF(reinterpret_cast<PyObject*>(type));
    return type;
  }
  return PyArray_DescrFromType(number_of(dtype));
}

}  // namespace

void load_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

bool is_numpy(nb::handle object) { return PyArray_Check(object.ptr()) != 0; }

Reading view_numpy(nb::handle object, View<void>& view) {
  PyArrayObject* array = as_array(object);
  const std::optional<DType> dtype = dtype_of_array(array);
  if (!dtype) return Reading::kWrongType;
  if (PyArray_NDIM(array) > kMaxRank) return Reading::kTooManyAxes;
  const auto bytes = static_cast<npy_intp>(size_of(*dtype));
  Dims shape, strides;
  for (int axis = 0; axis < PyArray_NDIM(array); ++axis) {
    const npy_intp step = PyArray_STRIDE(array, axis);
    if (step < 0 || step % bytes != 0) return Reading::kNeedsCopy;
    shape.push_back(PyArray_DIM(array, axis));
    strides.push_back(step / bytes);
  }
  if (!PyArray_ISALIGNED(array)) return Reading::kNeedsCopy;
  view = View<void>(PyArray_DATA(array), *dtype, shape, strides);
  return Reading::kViewed;
}

bool is_masked(nb::handle array) {
  if (PyArray_CheckExact(array.ptr())) return false;
  return nb::isinstance(array, nb::module_::import_("numpy.ma").attr("MaskedArray"));
}

bool is_numpy_flag(nb::handle object) { return PyArray_IsScalar(object.ptr(), Bool); }

bool is_writable(nb::handle array) { return PyArray_ISWRITEABLE(as_array(array)); }

nb::object copy_numpy(nb::handle array) {
  nb::object copy = nb::steal(PyArray_NewCopy(as_array(array), NPY_CORDER));
  if (!copy.is_valid()) throw nb::python_error();
  return copy;
}

nb::object new_numpy(DType dtype, const Dims& shape, nb::handle like, View<void>& view) {
  std::array<npy_intp, kMaxRank> extents{};
  for (int axis = 0; axis < shape.rank(); ++axis) extents[static_cast<std::size_t>(axis)] = shape[axis];
  nb::object array = nb::steal(PyArray_NewFromDescr(&PyArray_Type, numpy_type(dtype, like), shape.rank(),
                                                    extents.data(), nullptr, nullptr, 0, nullptr));
  if (!array.is_valid()) throw nb::python_error();
  view = View<void>(PyArray_DATA(as_array(array)), dtype, shape);
  return array;
}

}  // namespace qkv::python
