// The two directions between Python's arrays and views.
#include "apps/python/arrays.h"

#include <nanobind/stl/string.h>

#include <array>
#include <optional>
#include <utility>

namespace qkv::python {
namespace {

using Code = nb::dlpack::dtype_code;

struct TypeRow {
  DType dtype;
  Code code;
  int bits;
};
constexpr TypeRow kTypes[] = {
    {DType::kF64, Code::Float, 64}, {DType::kF32, Code::Float, 32}, {DType::kBF16, Code::Bfloat, 16},
    {DType::kF16, Code::Float, 16}, {DType::kBool, Code::Bool, 8},  {DType::kU8, Code::UInt, 8},
    {DType::kI32, Code::Int, 32},   {DType::kI64, Code::Int, 64},
};

std::optional<DType> dtype_of_array(nb::dlpack::dtype type) {
  for (const TypeRow& row : kTypes)
    if (type.code == static_cast<std::uint8_t>(row.code) && type.bits == row.bits && type.lanes == 1) return row.dtype;
  return std::nullopt;
}

nb::dlpack::dtype dlpack_of(DType dtype) {
  for (const TypeRow& row : kTypes)
    if (row.dtype == dtype)
      return {static_cast<std::uint8_t>(row.code), static_cast<std::uint8_t>(row.bits), std::uint16_t{1}};
  return {};
}

std::string kind_of(nb::handle object) { return nb::cast<std::string>(object.type().attr("__name__")); }

bool is_numpy(nb::handle object) { return nb::isinstance(object, nb::module_::import_("numpy").attr("ndarray")); }

// ml_dtypes' bfloat16, which neither the buffer protocol nor NumPy's DLPack knows.
bool is_numpy_bf16(nb::handle object) {
  return is_numpy(object) && nb::cast<std::string>(object.attr("dtype").attr("name")) == "bfloat16";
}

[[noreturn]] void raise_kind(const std::string& name, nb::handle object) {
  std::string found = "a " + kind_of(object);
  if (nb::hasattr(object, "dtype")) found += " of " + nb::cast<std::string>(object.attr("dtype").attr("__str__")());
  const std::string message = name + " is " + found +
                              "; expected an array in the CPU's memory (NumPy or DLPack) of float64, float32, "
                              "float16, bfloat16, or a mask of bool";
  throw nb::type_error(message.c_str());
}

template <class Array>
bool has_negative_stride(const Array& array) {
  for (std::size_t axis = 0; axis < array.ndim(); ++axis)
    if (array.stride(axis) < 0) return true;
  return false;
}

template <class ViewType, class Array>
ViewType view_of(const std::string& name, nb::handle object, const Array& array, bool bf16_as_bits) {
  const std::optional<DType> dtype = bf16_as_bits ? DType::kBF16 : dtype_of_array(array.dtype());
  if (!dtype || array.device_type() != nb::device::cpu::value) raise_kind(name, object);
  if (array.ndim() > kMaxRank)
    throw nb::value_error((name + " has " + std::to_string(array.ndim()) + " axes; expected at most 4").c_str());
  Dims shape, strides;
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    shape.push_back(static_cast<std::int64_t>(array.shape(axis)));
    strides.push_back(array.stride(axis));
  }
  return ViewType(array.data(), *dtype, shape, strides);
}

}  // namespace

void raise_if_error(const Status& status) {
  if (status.is_ok()) return;
  if (status.code() == StatusCode::kOutOfMemory) {
    PyErr_SetString(PyExc_MemoryError, status.message().c_str());
    throw nb::python_error();
  }
  throw nb::value_error(status.message().c_str());
}

Input import_array(const std::string& name, nb::handle object) {
  const bool bf16_as_bits = is_numpy_bf16(object);
  nb::object source = bf16_as_bits ? object.attr("view")("uint16") : nb::borrow(object);
  Input input;
  bool imported = nb::try_cast(source, input.array);
  if (is_numpy(source) && (!imported || has_negative_stride(input.array))) {
    // Negative strides, and strides that are no multiple of an element (a field of a record): one copy mends both.
    source = nb::module_::import_("numpy").attr("ascontiguousarray")(source);
    imported = nb::try_cast(source, input.array);
  }
  if (!imported) raise_kind(name, object);
  input.view = view_of<View<const void>>(name, object, input.array, bf16_as_bits);
  return input;
}

Output import_output(const std::string& name, nb::handle object) {
  const bool bf16_as_bits = is_numpy_bf16(object);
  const nb::object target = bf16_as_bits ? object.attr("view")("uint16") : nb::borrow(object);
  Output output;
  if (!nb::try_cast(target, output.array)) {
    if (nb::ndarray<nb::ro> readable; nb::try_cast(target, readable))
      throw nb::type_error((name + " is read-only; give an array that may be written").c_str());
    raise_kind(name, object);
  }
  output.view = view_of<View<void>>(name, object, output.array, bf16_as_bits);
  return output;
}

nb::object export_array(Tensor tensor, View<const void> shown, nb::handle like) {
  std::array<std::size_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};
  for (int axis = 0; axis < shown.shape.rank(); ++axis) {
    shape[static_cast<std::size_t>(axis)] = static_cast<std::size_t>(shown.shape[axis]);
    strides[static_cast<std::size_t>(axis)] = shown.strides[axis];
  }
  void* data = tensor.view().data;
  const DType dtype = tensor.dtype();
  const nb::capsule owner(new Tensor(std::move(tensor)),
                          [](void* memory) noexcept { delete static_cast<Tensor*>(memory); });
  const auto rank = static_cast<std::size_t>(shown.shape.rank());
  const bool numpy = is_numpy(like);
  const bool as_bits = numpy && dtype == DType::kBF16;
  const nb::dlpack::dtype type = as_bits ? nb::dtype<std::uint16_t>() : dlpack_of(dtype);
  if (!numpy) {
    const nb::object array = nb::cast(
        nb::ndarray<nb::array_api>(data, rank, shape.data(), owner, strides.data(), type, nb::device::cpu::value));
    if (nb::hasattr(like, "__array_namespace__")) return like.attr("__array_namespace__")().attr("from_dlpack")(array);
    const std::string full = nb::cast<std::string>(like.type().attr("__module__"));
    const nb::object module = nb::module_::import_(full.substr(0, full.find('.')).c_str());
    if (nb::hasattr(module, "from_dlpack")) return module.attr("from_dlpack")(array);
  }
  nb::object array =
      nb::cast(nb::ndarray<nb::numpy>(data, rank, shape.data(), owner, strides.data(), type, nb::device::cpu::value));
  return as_bits ? array.attr("view")(like.attr("dtype")) : array;
}

}  // namespace qkv::python
