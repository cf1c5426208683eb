// Packing of matrices of any type and stride, and the tiles of a product over packed panels.

#if defined(QKV_SRC_OPS_PROJECT_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_PROJECT_PRODUCT_INL_H_
#undef QKV_SRC_OPS_PROJECT_PRODUCT_INL_H_
#else
#define QKV_SRC_OPS_PROJECT_PRODUCT_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "src/ops/dot/dot-inl.h"
#include "src/ops/dot/outer-inl.h"
#include "src/ops/dot/store-inl.h"
#include "src/ops/dot/transpose-inl.h"
#include "src/ops/project/product.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Columns of a packed panel: one full-width register tile.
template <class C>
constexpr std::int64_t panel_width() {
  return kOuterVectors * static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
}

template <class C>
constexpr std::int64_t whole_vectors(std::int64_t columns) {
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  return (columns + kLanes - 1) / kLanes * kLanes;
}

// Whether rows of the matrix can be read where they are.
template <class C>
HWY_INLINE bool has_rows_of(View<const void> matrix) {
  return matrix.dtype == dtype_of<C>() && (matrix.strides[1] == 1 || matrix.shape[1] == 1);
}

// A matrix whose columns, not rows, are contiguous. Runs of 64 rows, so that what is written stays in L1.
template <class C>
HWY_INLINE void pack_transposed(View<const void> matrix, Range rows, Range columns, C* HWY_RESTRICT to,
                                std::int64_t stride) {
  constexpr std::int64_t kRun = 64;
  constexpr std::int64_t kGroup = 16;  // columns that are converted together
  HWY_ALIGN C buffer[kGroup * kRun];
  const bool in_place = matrix.dtype == dtype_of<C>();
  for (std::int64_t r = 0; r < rows.count; r += kRun) {
    const std::int64_t run = std::min(kRun, rows.count - r);
    for (std::int64_t c = 0; c < columns.count; c += kGroup) {
      const std::int64_t group = std::min(kGroup, columns.count - c);
      const std::int64_t offset = rows.begin + r + (columns.begin + c) * matrix.strides[1];
      const C* from = buffer;
      if (in_place)
        from = static_cast<const C*>(matrix.data) + offset;
      else
        for (std::int64_t i = 0; i < group; ++i)
          load_row(matrix, offset + i * matrix.strides[1], 1, static_cast<std::size_t>(run), buffer + i * kRun);
      transpose(from, in_place ? matrix.strides[1] : kRun, group, run, to + r * stride + c, stride);
    }
  }
}

// Rows of C, copied. They are far apart in memory and short, so nothing but this prefetch fetches ahead.
template <class C>
HWY_INLINE void pack_rows(const C* HWY_RESTRICT from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
                          C* HWY_RESTRICT to, std::int64_t to_stride) {
  constexpr std::int64_t kAhead = 8;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  constexpr std::int64_t kLine = 64 / sizeof(C);
  const Tag<C> d;
  for (std::int64_t r = 0; r < rows; ++r, from += from_stride, to += to_stride) {
    if (r + kAhead < rows)
      for (std::int64_t c = 0; c < columns; c += kLine) hwy::Prefetch(from + kAhead * from_stride + c);
    std::int64_t c = 0;
    for (; c + kLanes <= columns; c += kLanes) hn::StoreU(hn::LoadU(d, from + c), d, to + c);
    for (; c < columns; ++c) to[c] = from[c];
  }
}

template <class C>
HWY_NOINLINE void pack(View<const void> matrix, Range rows, Range columns, C* HWY_RESTRICT to, std::int64_t stride,
                       std::int64_t padded) {
  if (padded > columns.count)
    for (std::int64_t r = 0; r < rows.count; ++r)
      std::fill_n(to + r * stride + columns.count, padded - columns.count, C{0});
  const std::int64_t first = rows.begin * matrix.strides[0] + columns.begin * matrix.strides[1];
  if (has_rows_of<C>(matrix))
    return pack_rows(static_cast<const C*>(matrix.data) + first, matrix.strides[0], rows.count, columns.count, to,
                     stride);
  if (matrix.strides[0] == 1 && matrix.strides[1] != 1) return pack_transposed(matrix, rows, columns, to, stride);
  for (std::int64_t r = 0; r < rows.count; ++r)
    load_row(matrix, first + r * matrix.strides[0], matrix.strides[1], static_cast<std::size_t>(columns.count),
             to + r * stride);
}

// What becomes of finished sums: they are stored in c, added to what c holds already, or stand in c themselves.
enum class Finish : std::uint8_t { kStore, kAdd, kInPlace };

// Sums of some rows, with the bias on request, rounded to c's type.
template <class C>
HWY_INLINE void finish_rows(const Product& product, Range rows, Range columns, C* HWY_RESTRICT sums,
                            std::int64_t stride, Finish finish, bool with_bias) {
  const View<void>& c = product.c;
  const auto count = static_cast<std::size_t>(columns.count);
  HWY_ALIGN C other[kProductFewColumns];  // a row of the bias, or of c; panels and chunks are no wider
  const auto add = [&](C* HWY_RESTRICT row) HWY_ATTR {
    for (std::size_t i = 0; i < count; ++i) row[i] += other[i];
  };
  const auto offset_of = [&](std::int64_t r) { return (rows.begin + r) * c.strides[0] + columns.begin * c.strides[1]; };
  if (finish == Finish::kAdd)
    for (std::int64_t r = 0; r < rows.count; ++r) {
      load_row(View<const void>(c), offset_of(r), c.strides[1], count, other);
      add(sums + r * stride);
    }
  if (with_bias) load_row(product.bias, columns.begin * product.bias.strides[0], product.bias.strides[0], count, other);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    C* row = sums + r * stride;
    if (with_bias) add(row);
    if (finish != Finish::kInPlace) store_row(row, count, c, offset_of(r), c.strides[1]);
  }
}

// Where the sums of a run stand among the runs that c is summed over.
struct RunPlace {
  bool first = true, last = true;
};

// One panel of a tile: c, the scratch sums or the buffer take the sums of a group of rows, which are then finished.
template <class C>
HWY_NOINLINE void multiply_panel(const ProductTile& tile, RunPlace place, Broadcasts<C> a, Range columns,
                                 const C* HWY_RESTRICT panel, std::int64_t depth, C* HWY_RESTRICT buffer) {
  const View<void>& c = tile.product->c;
  const std::int64_t width = whole_vectors<C>(columns.count);
  const bool in_sums = tile.sums != nullptr;
  const bool in_c =
      !in_sums && c.dtype == dtype_of<C>() && (c.strides[1] == 1 || c.shape[1] == 1) && width == columns.count;
  const bool adds = !place.first && (in_sums || in_c);
  const bool with_bias = place.last && tile.product->bias.is_present();
  for (std::int64_t done = 0; done < tile.rows.count; done += kProductRowGroup) {
    const Range rows{tile.rows.begin + done, std::min(kProductRowGroup, tile.rows.count - done)};
    C* sums = buffer;
    std::int64_t stride = panel_width<C>();
    if (in_sums) {
      sums = static_cast<C*>(tile.sums) + done * tile.sums_stride + columns.begin - tile.columns.begin;
      stride = tile.sums_stride;
    } else if (in_c) {
      sums = static_cast<C*>(c.data) + rows.begin * c.strides[0] + columns.begin;
      stride = c.strides[0];
    }
    const Broadcasts<C> rows_of_a{a.data + done * a.row_stride, a.row_stride, a.step};
    if (adds)
      outer_product<false>(rows_of_a, rows.count, panel, panel_width<C>(), depth, sums, stride, width);
    else
      outer_product<false, Start::kFromZero>(rows_of_a, rows.count, panel, panel_width<C>(), depth, sums, stride,
                                             width);
    Finish finish = place.first || in_sums ? Finish::kStore : Finish::kAdd;
    if (in_c) finish = Finish::kInPlace;
    if (in_sums ? place.last : !in_c || with_bias)
      finish_rows(*tile.product, rows, columns, sums, stride, finish, with_bias);
  }
}

// Elements from one row of a packed block of a to the next: an odd number of cache lines, so that neighbouring rows
// share no set of the L1 cache.
template <class C>
constexpr std::int64_t packed_stride(std::int64_t depth) {
  constexpr std::int64_t kLine = 64 / sizeof(C);
  return ((depth + kLine - 1) / kLine | 1) * kLine;
}

template <class C>
std::int64_t buffer_elements(std::int64_t rows, std::int64_t depth) {
  return (kProductRowGroup + depth) * panel_width<C>() + rows * packed_stride<C>(depth);
}

// One run of the summed axis: the block of a in place or packed, then panel after panel of b.
template <class C>
HWY_INLINE void multiply_run(const ProductTile& tile, const ProductTerm& term, Range depth, RunPlace place) {
  constexpr std::int64_t kPanel = panel_width<C>();
  auto* group = static_cast<C*>(tile.buffer);
  C* panel = group + kProductRowGroup * kPanel;
  Broadcasts<C> a{nullptr, packed_stride<C>(depth.count), 1};
  if (has_rows_of<C>(term.a)) {
    const View<const void>& view = term.a;
    a = {static_cast<const C*>(view.data) + tile.rows.begin * view.strides[0] + depth.begin * view.strides[1],
         view.strides[0], 1};
  } else {
    C* packed = panel + depth.count * kPanel;
    pack<C>(term.a, tile.rows, depth, packed, a.row_stride, depth.count);
    a.data = packed;
  }
  for (std::int64_t n = 0; n < tile.columns.count; n += kPanel) {
    const Range columns{tile.columns.begin + n, std::min(kPanel, tile.columns.count - n)};
    pack<C>(term.b, depth, columns, panel, kPanel, whole_vectors<C>(columns.count));
    multiply_panel(tile, place, a, columns, panel, depth.count, group);
  }
}

template <class C>
void multiply(const ProductTile& tile) {
  const auto terms = tile.product->all_terms();
  for (const ProductTerm& term : terms) {
    const std::int64_t depth = term.b.shape[0];
    const std::int64_t runs = product_runs(depth);
    for (std::int64_t run = 0; run < runs; ++run)
      multiply_run<C>(tile, term, product_run(depth, run),
                      {run == 0 && &term == &terms.front(), run + 1 == runs && &term == &terms.back()});
  }
}

template <class C>
void pack_few_rows(View<const void> a, void* to, std::int64_t stride) {
  pack<C>(a, {0, a.shape[0]}, {0, a.shape[1]}, static_cast<C*>(to), stride, a.shape[1]);
}

// b is read once, a few rows of it side by side; the sums of a run of columns stay in L1.
// buffer: [few rows][columns], then as much again for rows of b that have to be converted.
template <class C>
void multiply_few_rows(const Product& product, Range columns, const void* packed_a, std::int64_t a_stride,
                       void* memory) {
  auto* sums = static_cast<C*>(memory);
  C* converted = sums + kProductFewRows * kProductFewColumns;
  const std::int64_t rows = product.c.shape[0];
  const std::int64_t width = whole_vectors<C>(columns.count);
  std::fill_n(sums, rows * kProductFewColumns, C{0});
  const auto* a = static_cast<const C*>(packed_a);
  for (const ProductTerm& term : product.all_terms()) {
    const std::int64_t depth = term.b.shape[0];
    const bool in_place = has_rows_of<C>(term.b) && width == columns.count;
    for (std::int64_t k = 0; k < depth; k += kProductFewDepth) {
      const Range run{k, std::min(kProductFewDepth, depth - k)};
      const C* b = converted;
      std::int64_t b_stride = kProductFewColumns;
      if (in_place) {
        b = static_cast<const C*>(term.b.data) + k * term.b.strides[0] + columns.begin;
        b_stride = term.b.strides[0];
      } else {
        pack<C>(term.b, run, columns, converted, b_stride, width);
      }
      outer_product<false>(Broadcasts<C>{a + k, a_stride, 1}, rows, b, b_stride, run.count, sums, kProductFewColumns,
                           width);
    }
    a += depth;
  }
  finish_rows(product, {0, rows}, columns, sums, kProductFewColumns, Finish::kStore, product.bias.is_present());
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
