// From bytes as a file stores them to a view: in place where alignment and byte order allow, else of a copy.
#ifndef QKV_SRC_IO_STORED_ELEMENTS_H_
#define QKV_SRC_IO_STORED_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv {

enum class ByteOrder : std::uint8_t { kLittle, kBig };

// How the elements of one tensor lie in its bytes; they fill them without a hole.
struct ElementLayout {
  DType element = DType::kF32;
  ByteOrder byte_order = ByteOrder::kLittle;
  Dims shape;
  Dims strides;  // row-major, or column-major for a Fortran array
};

// A view of `data`, or of a copy that `copy` then holds. Constraint: data has as many bytes as the layout says.
// Errors: kCorruptFile for a bool that is neither 0 nor 1, kOutOfMemory.
Result<View<const void>> view_of_stored(std::span<const std::byte> data, const ElementLayout& layout, Tensor& copy);

// Uninterpreted memory for the elements of a layout, to be filled as stored and then given to view_of_filled().
Result<Tensor> memory_for(const ElementLayout& layout);
Result<View<const void>> view_of_filled(Tensor& filled, const ElementLayout& layout);

// `view` itself if its elements lie in row-major order without a hole, else a copy that `copy` then holds.
Result<View<const void>> row_major(const View<const void>& view, Tensor& copy);
// The bytes of such a view.
std::span<const std::byte> bytes_of(const View<const void>& view);

// The product of extents times `bytes_each`; absent if it does not fit 63 bits.
std::optional<std::uint64_t> bytes_of_shape(const std::vector<std::int64_t>& shape, std::uint64_t bytes_each);

// Constraint: at most kMaxRank extents.
Dims dims_of(const std::vector<std::int64_t>& shape);
std::vector<std::int64_t> extents_of(const Dims& dims);

// [2,3] has strides [1,2].
Dims column_major_strides(const Dims& shape);

}  // namespace qkv

#endif  // QKV_SRC_IO_STORED_ELEMENTS_H_
