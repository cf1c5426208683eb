// Alignment, byte order and bools of stored elements.
#include "src/io/stored_elements.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

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
