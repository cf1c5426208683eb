// Passes over the rows of a matrix: sums of its columns, run by run, and copies in another type.

#if defined(QKV_SRC_OPS_PROJECT_ROW_PASSES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_PROJECT_ROW_PASSES_INL_H_
#undef QKV_SRC_OPS_PROJECT_ROW_PASSES_INL_H_
#else
#define QKV_SRC_OPS_PROJECT_ROW_PASSES_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "src/ops/dot/dot-inl.h"
#include "src/ops/dot/store-inl.h"
#include "src/ops/project/product.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {

// sums[c] += row[c].
template <class C>
HWY_INLINE void add_row(const C* HWY_RESTRICT row, std::int64_t count, C* HWY_RESTRICT sums) {
  for (std::int64_t c = 0; c < count; ++c) sums[c] += row[c];
}

template <class C>
void sum_columns(View<const void> matrix, Range rows, void* sums, void* memory) {
  const std::int64_t columns = matrix.shape[1];
  auto* to = static_cast<C*>(sums);
  auto* row = static_cast<C*>(memory);
  std::fill_n(to, columns, C{0});
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::int64_t offset = (rows.begin + r) * matrix.strides[0];
    if (matrix.dtype == dtype_of<C>() && matrix.strides[1] == 1) {
      add_row(static_cast<const C*>(matrix.data) + offset, columns, to);
      continue;
    }
    load_row(matrix, offset, matrix.strides[1], static_cast<std::size_t>(columns), row);
    add_row(row, columns, to);
  }
}

template <class V>
HWY_INLINE std::int64_t offset_of_row(const V& view, std::int64_t row) {
  return row / view.shape[1] * view.strides[0] + row % view.shape[1] * view.strides[1];
}

template <class C>
void copy_rows(View<const void> from, View<void> to, Range rows, void* memory) {
  const auto channels = static_cast<std::size_t>(from.shape[2]);
  auto* row = static_cast<C*>(memory);
  for (std::int64_t r = rows.begin; r < rows.begin + rows.count; ++r) {
    load_row(from, offset_of_row(from, r), from.strides[2], channels, row);
    store_row(row, channels, to, offset_of_row(to, r), to.strides[2]);
  }
}

template <class C>
void add_runs(void* memory, std::int64_t runs, View<void> total) {
  const std::int64_t columns = total.shape[0];
  auto* sums = static_cast<C*>(memory);
  for (std::int64_t run = 1; run < runs; ++run) add_row(sums + run * columns, columns, sums);
  store_row(sums, static_cast<std::size_t>(columns), total, 0, total.strides[0]);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
