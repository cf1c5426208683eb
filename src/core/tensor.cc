// Shapes, views and the owning tensor.
#include "qkv/tensor.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "src/core/for_each_element.h"
#include "src/core/status_macros.h"

namespace qkv {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector

void store_from_double(void* data, DType dtype, std::int64_t index, double value) {
  switch (dtype) {
    case DType::kF64: static_cast<double*>(data)[index] = value; break;
    case DType::kF32: static_cast<float*>(data)[index] = static_cast<float>(value); break;
    case DType::kBF16: static_cast<bf16*>(data)[index] = to_bf16(value); break;
    case DType::kF16: static_cast<f16*>(data)[index] = to_f16(value); break;
    default: break;  // converted() admits floating types only
  }
}

}  // namespace

std::string to_string(const Dims& dims) {
  std::string text = "[";
  for (int axis = 0; axis < dims.rank(); ++axis) {
    if (axis > 0) text += ",";
    text += std::to_string(dims[axis]);
  }
  return text + "]";
}

std::int64_t element_count(const Dims& dims) {
  std::int64_t count = 1;
  bool overflow = false;
  bool empty = false;
  for (int axis = 0; axis < dims.rank(); ++axis) {
    if (dims[axis] < 0) return -1;
    if (dims[axis] == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, dims[axis], &count))
      overflow = true;
  }
  if (empty) return 0;
  return overflow ? -1 : count;
}

Dims contiguous_strides(const Dims& shape) {
  Dims strides = shape;
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    // A shape too large to exist wraps here without harm: whoever owns memory for it has checked element_count().
    step = static_cast<std::int64_t>(static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(shape[axis]));
  }
  return strides;
}

double element_as_double(View<const void> view, std::int64_t offset) {
  switch (view.dtype) {
    case DType::kF64: return static_cast<const double*>(view.data)[offset];
    case DType::kF32: return static_cast<const float*>(view.data)[offset];
    case DType::kBF16: return to_float(static_cast<const bf16*>(view.data)[offset]);
    case DType::kF16: return to_float(static_cast<const f16*>(view.data)[offset]);
    case DType::kBool:
    case DType::kU8: return static_cast<const std::uint8_t*>(view.data)[offset];
    case DType::kI32: return static_cast<const std::int32_t*>(view.data)[offset];
    case DType::kI64: return static_cast<double>(static_cast<const std::int64_t*>(view.data)[offset]);
  }
  return 0;
}

void Tensor::Free::operator()(void* memory) const { std::free(memory); }

Result<Tensor> Tensor::zeros(DType dtype, Dims shape) {
  const std::int64_t count = element_count(shape);
  const auto limit = std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(size_of(dtype));
  if (count < 0 || count > limit)
    return invalid_argument("tensor: the shape " + to_string(shape) + " has a negative extent or more than 2^63 bytes");
  std::size_t bytes = static_cast<std::size_t>(count) * size_of(dtype);
  bytes = (bytes / kAlignment + 1) * kAlignment;  // at least one line, so that an empty tensor is present too
  Tensor tensor;
  tensor.memory_.reset(std::aligned_alloc(kAlignment, bytes));
  if (!tensor.memory_)
    return out_of_memory("tensor: no memory for " + std::string(to_string(dtype)) + " " + to_string(shape) + " (" +
                         std::to_string(bytes >> 20) + " MiB)");
  std::memset(tensor.memory_.get(), 0, bytes);
  tensor.dtype_ = dtype;
  tensor.shape_ = shape;
  tensor.size_ = count;
  return tensor;
}

Result<Tensor> converted(View<const void> view, DType dtype) {
  if (!is_floating(view.dtype) || !is_floating(dtype))
    return shape_mismatch("convert: " + std::string(to_string(view.dtype)) + " to " + std::string(to_string(dtype)) +
                          " is not a conversion between floating types");
  QKV_ASSIGN_OR_RETURN(Tensor result, Tensor::zeros(dtype, view.shape));
  std::int64_t next = 0;
  for_each_element(view.shape, view.strides, [&](std::int64_t offset) {
    store_from_double(result.data<void>(), dtype, next++, element_as_double(view, offset));
  });
  return result;
}

}  // namespace qkv
