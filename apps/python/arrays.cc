// The two directions between Python's arrays and views. NumPy is read directly, everything else by DLPack.
#include "apps/python/arrays.h"

#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "apps/python/arguments.h"
#include "apps/python/dlpack_arrays.h"
#include "apps/python/dlpack_types.h"
#include "apps/python/numpy_arrays.h"

namespace qkv::python {
namespace {

// What the array of that name may hold: a cache's bookkeeping is whole numbers, everything else tensors.
std::string_view expected_array(std::string_view name) {
  if (name == "cache.lengths") return "an array [B] of int64 or int32 (it is written)";
  if (name == "cache.block_table") return "an array [B,max_pages] of int64 or int32";
  return "an array in the CPU's memory (NumPy or DLPack) of float64, float32, float16, bfloat16, or a mask of bool";
}

[[noreturn]] void raise_kind(const std::string& name, nb::handle object) {
  std::string found = "a " + kind_of(object);
  if (nb::hasattr(object, "dtype")) found += " of " + nb::cast<std::string>(object.attr("dtype").attr("__str__")());
  const std::string message = name + " is " + found + "; expected " + std::string(expected_array(name));
  throw nb::type_error(message.c_str());
}

[[noreturn]] void raise_axes(const std::string& name, std::size_t found) {
  throw nb::value_error((name + " has " + std::to_string(found) + " axes; expected at most 4").c_str());
}

[[noreturn]] void raise_read_only(const std::string& name) {
  throw nb::type_error((name + " is read-only; give an array that may be written").c_str());
}

// Of an object that is no array, or one that does not give its memory away.
[[noreturn]] void raise_unread(const char* name, nb::handle object) {
  if (nb::hasattr(object, "__dlpack__")) raise_unexported(name, object);
  raise_kind(name, object);
}

template <class ViewType, class Array>
ViewType view_of(const char* name, nb::handle object, const Array& array) {
  const std::optional<DType> dtype = dtype_of_dlpack(array.dtype());
  if (!is_host(array.device_type())) raise_device(name, array.device_type(), array.device_id());
  if (!dtype) raise_kind(name, object);
  if (array.ndim() > kMaxRank) raise_axes(name, array.ndim());
  Dims shape, strides;
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    shape.push_back(static_cast<std::int64_t>(array.shape(axis)));
    strides.push_back(array.stride(axis));
  }
  return ViewType(array.data(), *dtype, shape, strides);
}

// Raises for everything but a view and what a copy would mend.
Reading read_numpy(const char* name, nb::handle object, View<void>& view) {
  if (is_masked(object))
    throw nb::type_error(
        (std::string(name) + " is a MaskedArray; give its data, and say with keep or key_mask what may be seen")
            .c_str());
  const Reading reading = view_numpy(object, view);
  if (reading == Reading::kWrongType) raise_kind(name, object);
  if (reading == Reading::kTooManyAxes) raise_axes(name, nb::cast<std::size_t>(object.attr("ndim")));
  return reading;
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

Input::Input(const char* name, nb::handle object) {
  if (!is_numpy(object)) {
    refuse_hidden_state(name, object);
    if (object.is_none() || !nb::try_cast(object, exported)) raise_unread(name, object);
    view = view_of<View<const void>>(name, object, exported);
    return;
  }
  View<void> memory;
  if (read_numpy(name, object, memory) == Reading::kNeedsCopy) {
    copy = copy_numpy(object);
    read_numpy(name, copy, memory);
  }
  view = memory;
}

Written::Written(const char* name, nb::handle object) : array_(nb::borrow(object)) {
  if (is_numpy(object)) {
    const Reading reading = read_numpy(name, object, view_);
    if (!is_writable(object)) raise_read_only(name);
    if (reading == Reading::kViewed) return;
    throw nb::type_error((std::string(name) + " has negative strides or lies across its elements' alignment; " +
                          "give an array whose memory can be written as it is")
                             .c_str());
  }
  // JAX's arrays are immutable, though what they export does not say so.
  if (nb::cast<std::string>(object.type().attr("__module__")).starts_with("jax")) raise_read_only(name);
  refuse_hidden_state(name, object);
  if (object.is_none() || !nb::try_cast(object, exported_)) {
    if (nb::ndarray<nb::ro> readable; !object.is_none() && nb::try_cast(object, readable)) raise_read_only(name);
    raise_unread(name, object);
  }
  view_ = view_of<View<void>>(name, object, exported_);
}

Written::Written(DType dtype, const Dims& shape, nb::handle like) : like_(like) {
  if (is_numpy(like)) {
    array_ = new_numpy(dtype, shape, like, view_);
    return;
  }
  Result<Tensor> tensor = Tensor::zeros(dtype, shape);
  raise_if_error(tensor.status());
  tensor_ = std::move(tensor).value();
  view_ = tensor_.view();
}

nb::object Written::take() {
  if (array_.is_valid()) return std::move(array_);
  return export_tensor(std::move(tensor_), like_);
}

Written given_or_new(const char* name, nb::handle given, DType dtype, const Dims& shape, nb::handle like) {
  return given.is_none() ? Written(dtype, shape, like) : Written(name, given);
}

}  // namespace qkv::python
