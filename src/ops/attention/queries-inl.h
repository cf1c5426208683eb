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

// row[k] *= factor. Answers whether every product is as exact as row[k] was: not if one overflowed or sank into the
// subnormals. Constraint: row has room for a whole number of vectors, zero past `width`.
template <class C>
HWY_INLINE bool scale_row(C* HWY_RESTRICT row, std::size_t width, C factor) {
  const Tag<C> d;
  const auto largest = hn::Set(d, std::numeric_limits<C>::max());
  const auto smallest = hn::Set(d, sizeof(C) == 4 ? static_cast<C>(1e-30) : static_cast<C>(1e-290));
  auto lossy = hn::Lt(hn::Zero(d), hn::Zero(d));
  for (std::size_t k = 0; k < width; k += hn::Lanes(d)) {
    const auto value = hn::Load(d, row + k);
    const auto product = hn::Mul(value, hn::Set(d, factor));
    const auto size = hn::Abs(product);
    const auto overflowed = hn::AndNot(hn::Gt(hn::Abs(value), largest), hn::Gt(size, largest));
    const auto sank = hn::AndNot(hn::Eq(value, hn::Zero(d)), hn::Lt(size, smallest));
    lossy = hn::Or(lossy, hn::Or(overflowed, sank));
    hn::Store(product, d, row + k);
  }
  return hn::AllFalse(d, lossy) || factor == C{0};
}

// qt = the block's queries in lanes, each through change(row, i) first; lanes past the last query are 0, vectors past
// the last lane are left alone. `rows` [tile_width][row_stride], row_stride whole vectors, is scratch.
template <class C, class Change>
HWY_INLINE void transpose_queries(const View<const void>& q, const QueryBlock& block, C* HWY_RESTRICT rows,
                                  std::size_t row_stride, C* HWY_RESTRICT qt, Change change) {
  const auto width = static_cast<std::size_t>(q.shape[3]);
  const std::size_t padded = hwy::RoundUpTo(width, hn::MaxLanes(Tag<C>()));
  const std::size_t lanes = static_cast<std::size_t>(vectors_for<C>(block.count)) * hn::MaxLanes(Tag<C>());
  for (std::size_t i = 0; i < lanes; ++i) {
    C* row = rows + i * row_stride;
    if (static_cast<std::int64_t>(i) >= block.count) {
      std::fill_n(row, width, C{0});
      continue;
    }
    const std::int64_t query = block.begin + static_cast<std::int64_t>(i);
    load_row(q, block.batch * q.strides[0] + block.head * q.strides[1] + query * q.strides[2], q.strides[3], width,
             row);
    std::fill_n(row + width, padded - width, C{0});
    change(row, static_cast<std::int64_t>(i));
  }
  transpose(rows, static_cast<std::int64_t>(row_stride), static_cast<std::int64_t>(lanes),
            static_cast<std::int64_t>(width), qt, static_cast<std::int64_t>(tile_width<C>()));
}

// qt = the queries times `factor`. Answers whether no product lost bits (see scale_row).
template <class C>
HWY_NOINLINE bool pack_queries(const View<const void>& q, const QueryBlock& block, double factor, C* HWY_RESTRICT rows,
                               std::size_t row_stride, C* HWY_RESTRICT qt) {
  const auto by = static_cast<C>(factor);
  // A scale below the type's normal numbers has lost bits itself.
  bool exact = std::isfinite(by) && (std::fabs(by) >= std::numeric_limits<C>::min() || factor == 0);
  transpose_queries(q, block, rows, row_stride, qt, [&](C* row, std::int64_t) HWY_ATTR {
    exact &= scale_row(row, static_cast<std::size_t>(q.shape[3]), by);
  });
  return exact;
}

// For a scale that q cannot take in: every query is brought near 2^-11 by a power of two, so that no product with a key
// overflows, and the scale waits with that power in `post` [2][tile_width], as two factors (their product may lie
// outside the type), to meet the query's scores.
template <class C>
HWY_NOINLINE void pack_queries_within_range(const View<const void>& q, const QueryBlock& block, double scale_factor,
                                            C* HWY_RESTRICT rows, std::size_t row_stride, C* HWY_RESTRICT qt,
                                            C* HWY_RESTRICT post) {
  constexpr int kHeadroom = 11;  // bits: 2048 products of the largest numbers still add up to a finite one
  constexpr int kLargest = std::numeric_limits<C>::max_exponent - 2;
  constexpr std::size_t kWidth = tile_width<C>();
  const auto width = static_cast<std::size_t>(q.shape[3]);
  int scale_exponent = 0;
  const double scale = std::frexp(scale_factor, &scale_exponent);
  std::fill_n(post, 2 * kWidth, C{1});
  transpose_queries(q, block, rows, row_stride, qt, [&](C* row, std::int64_t i) HWY_ATTR {
    C largest = 0;
    for (std::size_t k = 0; k < width; ++k)
      if (const C size = std::fabs(row[k]); size <= std::numeric_limits<C>::max()) largest = std::max(largest, size);
    int exponent = 0;
    std::frexp(largest, &exponent);
    exponent = std::clamp(exponent + kHeadroom, -kLargest, kLargest);
    scale_row(row, width, static_cast<C>(std::ldexp(1.0, -exponent)));
    const int both = scale_exponent + exponent;
    const int first = both / 2;
    post[i] = static_cast<C>(std::ldexp(scale, std::clamp(first, -kLargest, kLargest)));
    post[kWidth + static_cast<std::size_t>(i)] =
        static_cast<C>(std::ldexp(1.0, std::clamp(both - first, -kLargest, kLargest)));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
