// Alignment, byte order and bools of stored elements.
#include "src/io/stored_elements.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "src/core/for_each_element.h"
#include "src/core/status_macros.h"

namespace qkv {
namespace {

constexpr ByteOrder kNative = std::endian::native == std::endian::little ? ByteOrder::kLittle : ByteOrder::kBig;

bool needs_swap(const ElementLayout& layout) { return layout.byte_order != kNative && size_of(layout.element) > 1; }

void swap_bytes(Tensor& tensor) {
  const std::size_t size = size_of(tensor.dtype());
  std::byte* element = tensor.data<std::byte>();
  for (std::int64_t left = tensor.size(); left > 0; --left, element += size) std::reverse(element, element + size);
}

// A C++ bool that holds another byte is undefined behaviour, and no writer makes one.
Status check_bools(const View<const void>& view) {
  if (view.dtype != DType::kBool) return {};
  const auto* first = static_cast<const unsigned char*>(view.data);
  const auto* last = first + element_count(view.shape);
  const auto* wrong = std::find_if(first, last, [](unsigned char byte) { return byte > 1; });
  if (wrong == last) return {};
  return corrupt_file("the bool at position " + std::to_string(wrong - first) + " is stored as " +
                      std::to_string(*wrong) + "; expected 0 or 1");
}

Result<View<const void>> checked(const View<const void>& view) {
  QKV_RETURN_IF_ERROR(check_bools(view));
  return view;
}

}  // namespace

Result<View<const void>> view_of_stored(std::span<const std::byte> data, const ElementLayout& layout, Tensor& copy) {
  const bool is_aligned = std::bit_cast<std::uintptr_t>(data.data()) % size_of(layout.element) == 0;
  if (is_aligned && !needs_swap(layout))
    return checked(View<const void>(data.data(), layout.element, layout.shape, layout.strides));
  QKV_ASSIGN_OR_RETURN(copy, memory_for(layout));
  if (!data.empty()) std::memcpy(copy.data<std::byte>(), data.data(), data.size());
  return view_of_filled(copy, layout);
}

Result<Tensor> memory_for(const ElementLayout& layout) {
  return Tensor::zeros(layout.element, {element_count(layout.shape)});
}

Result<View<const void>> view_of_filled(Tensor& filled, const ElementLayout& layout) {
  if (needs_swap(layout)) swap_bytes(filled);
  return checked(View<const void>(filled.data<void>(), layout.element, layout.shape, layout.strides));
}

Result<View<const void>> row_major(const View<const void>& view, Tensor& copy) {
  const std::int64_t count = element_count(view.shape);
  const Dims packed = contiguous_strides(view.shape);
  // The stride of an axis of extent 1 is never used.
  bool is_packed = true;
  for (int axis = 0; axis < view.shape.rank(); ++axis)
    is_packed = is_packed && (view.shape[axis] == 1 || view.strides[axis] == packed[axis]);
  if (is_packed || count == 0) return View<const void>(view.data, view.dtype, view.shape);
  QKV_ASSIGN_OR_RETURN(copy, Tensor::zeros(view.dtype, view.shape));
  const auto size = static_cast<std::int64_t>(size_of(view.dtype));
  const auto* from = static_cast<const std::byte*>(view.data);
  auto* to = copy.data<std::byte>();
  for_each_element(view.shape, view.strides, [&](std::int64_t offset) {
    std::memcpy(to, from + offset * size, static_cast<std::size_t>(size));
    to += size;
  });
  return std::as_const(copy).view();
}

std::span<const std::byte> bytes_of(const View<const void>& view) {
  const std::size_t bytes = static_cast<std::size_t>(element_count(view.shape)) * size_of(view.dtype);
  return {static_cast<const std::byte*>(view.data), bytes};
}

std::optional<std::uint64_t> bytes_of_shape(const std::vector<std::int64_t>& shape, std::uint64_t bytes_each) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::uint64_t bytes = bytes_each;
  for (const std::int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) return std::nullopt;
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return bytes;
}

Dims dims_of(const std::vector<std::int64_t>& shape) {
  Dims dims;
  for (const std::int64_t extent : shape) dims.push_back(extent);
  return dims;
}

std::vector<std::int64_t> extents_of(const Dims& dims) {
  std::vector<std::int64_t> shape;
  shape.reserve(kMaxRank);
  for (int axis = 0; axis < dims.rank(); ++axis) shape.push_back(dims[axis]);
  return shape;
}

Dims column_major_strides(const Dims& shape) {
  Dims strides = shape;
  std::int64_t step = 1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    strides[axis] = step;
    // Wraps only for an empty shape: the others' product has been checked.
    step = static_cast<std::int64_t>(static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(shape[axis]));
  }
  return strides;
}

}  // namespace qkv
