// Packing a block of queries into lanes, with the scale folded in where that loses no bits.

#if defined(QKV_SRC_OPS_ATTENTION_QUERIES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_QUERIES_INL_H_
#undef QKV_SRC_OPS_ATTENTION_QUERIES_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_QUERIES_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "src/ops/attention/forward.h"
#include "src/ops/dot/dot-inl.h"
#include "src/ops/dot/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors of a tile that `count` queries fill.
template <class C>
int vectors_for(std::int64_t count) {
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  return static_cast<int>((count + kLanes - 1) / kLanes);
}

// qt [width][tile_width] = `count` rows in lanes; lanes past the last row are 0, vectors past the last lane are left
// alone.
template <class C>
HWY_INLINE void rows_to_lanes(const C* HWY_RESTRICT rows, std::int64_t stride, std::int64_t count, std::int64_t width,
                              C* HWY_RESTRICT qt) {
  const Tag<C> d;
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  if (count % kLanes != 0)
    for (std::int64_t k = 0; k < width; ++k) hn::Store(hn::Zero(d), d, qt + k * kWidth + count / kLanes * kLanes);
  transpose(rows, stride, count, width, qt, kWidth);
}

// The block's queries in lanes. `rows` [tile_width][row_stride] is scratch for queries that are not C yet.
template <class C>
HWY_NOINLINE void transpose_queries(const View<const void>& q, const QueryBlock& block, C* HWY_RESTRICT rows,
                                    std::size_t row_stride, C* HWY_RESTRICT qt) {
  const std::int64_t width = q.shape[3];
  const std::int64_t first = block.batch * q.strides[0] + block.head * q.strides[1] + block.begin * q.strides[2];
  if (q.dtype == dtype_of<C>() && q.strides[3] == 1)
    return rows_to_lanes(static_cast<const C*>(q.data) + first, q.strides[2], block.count, width, qt);
  for (std::int64_t i = 0; i < block.count; ++i)
    load_row(q, first + i * q.strides[2], q.strides[3], static_cast<std::size_t>(width),
             rows + static_cast<std::size_t>(i) * row_stride);
  rows_to_lanes<C>(rows, static_cast<std::int64_t>(row_stride), block.count, width, qt);
}

// qt *= factor, in place, and what tells whether a product lost bits: the smallest magnitude above 0, and the largest
// where `kUpper`. NaN and infinity are neither.
template <bool kUpper, class C>
HWY_INLINE bool scale_within(C by, C lower, C upper, std::int64_t width, int vectors, C* HWY_RESTRICT qt) {
  const Tag<C> d;
  const hn::RebindToUnsigned<Tag<C>> bits;
  const auto one = hn::Set(bits, 1);
  auto smallest = hn::Not(hn::Zero(bits));
  auto large = hn::Lt(hn::Zero(d), hn::Zero(d));  // none
  for (std::int64_t k = 0; k < width; ++k)
    for (int v = 0; v < vectors; ++v) {
      C* at = qt + static_cast<std::size_t>(k) * tile_width<C>() + static_cast<std::size_t>(v) * hn::MaxLanes(d);
      const auto value = hn::Load(d, at);
      const auto magnitude = hn::Abs(value);
      // As integers magnitudes have the same order, and 0 - 1 is the largest of all.
      smallest = hn::Min(smallest, hn::Sub(hn::BitCast(bits, magnitude), one));
      if constexpr (kUpper) large = hn::Or(large, hn::Gt(magnitude, hn::Set(d, upper)));
      hn::Store(hn::Mul(value, hn::Set(d, by)), d, at);
    }
  const auto lowest = hn::Sub(hn::BitCast(bits, hn::Set(d, lower)), one);
  return hn::AllFalse(bits, hn::Lt(smallest, lowest)) && hn::AllFalse(d, large);
}

// qt *= factor, in place. Answers whether every product is as exact as the query was: not if one overflowed or sank
// into the subnormals.
template <class C>
HWY_NOINLINE bool scale_queries(double factor, std::int64_t width, int vectors, C* HWY_RESTRICT qt) {
  const auto by = static_cast<C>(factor);
  const C size = std::fabs(by);
  // A scale below the type's normal numbers has lost bits itself.
  if (!std::isfinite(by) || (size < std::numeric_limits<C>::min() && factor != 0)) return false;
  constexpr C kSmallest = sizeof(C) == 4 ? static_cast<C>(1e-30) : static_cast<C>(1e-290);
  // Queries of these sizes have products that are too small or too large. Infinity times anything is exact, but rare.
  const C lower = factor == 0 ? std::numeric_limits<C>::denorm_min() : kSmallest / size;
  if (size <= 1) return scale_within<false>(by, lower, C{0}, width, vectors, qt);
  return scale_within<true>(by, lower, std::numeric_limits<C>::max() / size, width, vectors, qt);
}

// For a scale that q cannot take in: every query in qt is brought near 2^-11 by a power of two, so that no product with
// a key overflows, and the scale waits with that power in `post` [2][tile_width], as two factors (their product may lie
// outside the type), to meet the query's scores.
template <class C>
HWY_NOINLINE void bring_within_range(double scale_factor, std::int64_t width, std::int64_t count, C* HWY_RESTRICT qt,
                                     C* HWY_RESTRICT post) {
  constexpr int kHeadroom = 11;  // bits: 2048 products of the largest numbers still add up to a finite one
  constexpr int kLargest = std::numeric_limits<C>::max_exponent - 2;
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  int scale_exponent = 0;
  const double scale = std::frexp(scale_factor, &scale_exponent);
  std::fill_n(post, 2 * kWidth, C{1});
  for (std::int64_t i = 0; i < count; ++i) {
    C largest = 0;
    for (std::int64_t k = 0; k < width; ++k)
      if (const C size = std::fabs(qt[k * kWidth + i]); size <= std::numeric_limits<C>::max())
        largest = std::max(largest, size);
    int exponent = 0;
    std::frexp(largest, &exponent);
    exponent = std::clamp(exponent + kHeadroom, -kLargest, kLargest);
    const C factor = static_cast<C>(std::ldexp(1.0, -exponent));
    for (std::int64_t k = 0; k < width; ++k) qt[k * kWidth + i] *= factor;
    const int both = scale_exponent + exponent;
    const int first = both / 2;
    post[i] = static_cast<C>(std::ldexp(scale, std::clamp(first, -kLargest, kLargest)));
    post[kWidth + i] = static_cast<C>(std::ldexp(1.0, std::clamp(both - first, -kLargest, kLargest)));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
