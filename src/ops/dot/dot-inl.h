// Rows of any element type brought to the compute type, and the two register tiles that all the flops go through.
// Everything that depends on the element type lives here.

#if defined(QKV_SRC_OPS_DOT_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_DOT_DOT_INL_H_
#undef QKV_SRC_OPS_DOT_DOT_INL_H_
#else
#define QKV_SRC_OPS_DOT_DOT_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "qkv/tensor.h"

// In front of the loops over a register tile: only once they are unrolled do its vectors live in registers.
#ifndef QKV_UNROLL
#if HWY_COMPILER_CLANG
#define QKV_UNROLL _Pragma("clang loop unroll(full)")
#else
#define QKV_UNROLL _Pragma("GCC unroll 16")
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A tile is kVectors vectors wide (queries, in lanes) and kTileRows rows high (keys, or value columns). 24 accumulators
// where there are 32 registers hide the FMA's latency four times over; 12 fit into the 16 of AVX2.
inline constexpr int kVectors = 3;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kTileRows = 8;
#else
inline constexpr int kTileRows = 4;
#endif

template <class C>
using Tag = hn::ScalableTag<C>;

// Queries in a tile.
template <class C>
constexpr std::size_t tile_width() {
  return kVectors * hn::MaxLanes(Tag<C>());
}

// 16-bit floats to f32, contiguous.
HWY_INLINE void widen(const bf16* HWY_RESTRICT from, std::size_t count, float* HWY_RESTRICT to) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(from[i].bits) << 16;
    std::memcpy(to + i, &bits, sizeof(bits));
  }
}
HWY_INLINE void widen(const f16* HWY_RESTRICT from, std::size_t count, float* HWY_RESTRICT to) {
  std::size_t i = 0;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
  const Tag<float> d;
  const hn::Rebind<hwy::float16_t, Tag<float>> half;
  const auto* source = reinterpret_cast<const hwy::float16_t*>(from);
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, source + i)), d, to + i);
#endif
  for (; i < count; ++i) to[i] = to_float(from[i]);
}
HWY_INLINE void widen(const float* HWY_RESTRICT from, std::size_t count, float* HWY_RESTRICT to) {
  std::memcpy(to, from, count * sizeof(float));
}
HWY_INLINE void widen(const double* HWY_RESTRICT from, std::size_t count, double* HWY_RESTRICT to) {
  std::memcpy(to, from, count * sizeof(double));
}

template <class T, class C>
HWY_INLINE void widen_strided(const T* from, std::int64_t stride, std::size_t count, C* HWY_RESTRICT to) {
  if (stride == 1) return widen(from, count, to);
  for (std::size_t i = 0; i < count; ++i) {
    const T value = from[static_cast<std::int64_t>(i) * stride];
    if constexpr (std::is_same_v<T, bf16> || std::is_same_v<T, f16>)
      to[i] = to_float(value);
    else
      to[i] = value;
  }
}

// `count` elements of the view, from `offset` on and `stride` apart, as C. Constraint: C = double for f64, else float.
template <class C>
HWY_INLINE void load_row(View<const void> view, std::int64_t offset, std::int64_t stride, std::size_t count,
                         C* HWY_RESTRICT to) {
  if constexpr (std::is_same_v<C, double>) {
    widen_strided(static_cast<const double*>(view.data) + offset, stride, count, to);
  } else {
    switch (view.dtype) {
      case DType::kBF16: return widen_strided(static_cast<const bf16*>(view.data) + offset, stride, count, to);
      case DType::kF16: return widen_strided(static_cast<const f16*>(view.data) + offset, stride, count, to);
      default: return widen_strided(static_cast<const float*>(view.data) + offset, stride, count, to);
    }
  }
}

// scores[r][i] = Σ_d rows[r·row_stride + d] · columns[d][i]   for kRows rows and kTileVectors vectors of queries i;
// where `max` is given, max[i] = max(max[i], scores[r][i]) too, while the scores are still in registers.
// Shapes: rows [kRows, depth] row-major, any alignment; columns [depth][tile_width], scores [kRows][tile_width],
// max [tile_width], aligned to a vector.
template <int kRows, int kTileVectors = kVectors, class C>
HWY_NOINLINE void dot_tile(const C* HWY_RESTRICT rows, std::int64_t row_stride, const C* HWY_RESTRICT columns,
                           std::int64_t depth, C* HWY_RESTRICT scores, C* HWY_RESTRICT max = nullptr) {
  const Tag<C> d;
  constexpr std::size_t kLanes = hn::MaxLanes(Tag<C>());
  constexpr std::size_t kWidth = tile_width<C>();
  hn::Vec<Tag<C>> sum[kRows][kTileVectors];
  QKV_UNROLL
  for (int r = 0; r < kRows; ++r) QKV_UNROLL
  for (int c = 0; c < kTileVectors; ++c) sum[r][c] = hn::Zero(d);
  for (std::int64_t k = 0; k < depth; ++k) {
    const C* HWY_RESTRICT column = columns + static_cast<std::size_t>(k) * kWidth;
    hn::Vec<Tag<C>> query[kTileVectors];
    QKV_UNROLL
    for (int c = 0; c < kTileVectors; ++c) query[c] = hn::Load(d, column + static_cast<std::size_t>(c) * kLanes);
    QKV_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const auto key = hn::Set(d, rows[r * row_stride + k]);
      QKV_UNROLL
      for (int c = 0; c < kTileVectors; ++c) sum[r][c] = hn::MulAdd(query[c], key, sum[r][c]);
    }
  }
  QKV_UNROLL
  for (int r = 0; r < kRows; ++r) QKV_UNROLL
  for (int c = 0; c < kTileVectors; ++c)
    hn::Store(sum[r][c], d, scores + static_cast<std::size_t>(r) * kWidth + static_cast<std::size_t>(c) * kLanes);
  if (max == nullptr) return;
  QKV_UNROLL
  for (int c = 0; c < kTileVectors; ++c) {
    C* at = max + static_cast<std::size_t>(c) * kLanes;
    auto largest = hn::Load(d, at);
    QKV_UNROLL
    for (int r = 0; r < kRows; ++r) largest = hn::Max(largest, sum[r][c]);
    hn::Store(largest, d, at);
  }
}

// accumulators[r][i] += Σ_j values[j·value_stride + r] · weights[j][i]   for kRows value columns r and kTileVectors
// vectors of queries i. Shapes: values [count, >= kRows] row-major, any alignment; weights [count][tile_width],
// accumulators [kRows][tile_width], aligned to a vector.
template <int kRows, int kTileVectors = kVectors, class C>
HWY_NOINLINE void accumulate_tile(const C* HWY_RESTRICT values, std::int64_t value_stride,
                                  const C* HWY_RESTRICT weights, std::int64_t count, C* HWY_RESTRICT accumulators) {
  const Tag<C> d;
  constexpr std::size_t kLanes = hn::MaxLanes(Tag<C>());
  constexpr std::size_t kWidth = tile_width<C>();
  hn::Vec<Tag<C>> sum[kRows][kTileVectors];
  QKV_UNROLL
  for (int r = 0; r < kRows; ++r) QKV_UNROLL
  for (int c = 0; c < kTileVectors; ++c)
    sum[r][c] = hn::Load(d, accumulators + static_cast<std::size_t>(r) * kWidth + static_cast<std::size_t>(c) * kLanes);
  for (std::int64_t j = 0; j < count; ++j) {
    const C* HWY_RESTRICT row = weights + static_cast<std::size_t>(j) * kWidth;
    const C* HWY_RESTRICT value = values + j * value_stride;
    hn::Vec<Tag<C>> weight[kTileVectors];
    QKV_UNROLL
    for (int c = 0; c < kTileVectors; ++c) weight[c] = hn::Load(d, row + static_cast<std::size_t>(c) * kLanes);
    QKV_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const auto v = hn::Set(d, value[r]);
      QKV_UNROLL
      for (int c = 0; c < kTileVectors; ++c) sum[r][c] = hn::MulAdd(weight[c], v, sum[r][c]);
    }
  }
  QKV_UNROLL
  for (int r = 0; r < kRows; ++r) QKV_UNROLL
  for (int c = 0; c < kTileVectors; ++c)
    hn::Store(sum[r][c], d, accumulators + static_cast<std::size_t>(r) * kWidth + static_cast<std::size_t>(c) * kLanes);
}

// Calls body(integral_constant<int, rows>, first) for whole tiles of `count` rows, then for what is left in powers of
// two.
template <class Body>
HWY_INLINE void for_each_tile(std::int64_t count, const Body& body) {
  std::int64_t first = 0;
  for (; first + kTileRows <= count; first += kTileRows) body(std::integral_constant<int, kTileRows>(), first);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
  if ((count - first) & 4) {
    body(std::integral_constant<int, 4>(), first);
    first += 4;
  }
#endif
  if ((count - first) & 2) {
    body(std::integral_constant<int, 2>(), first);
    first += 2;
  }
  if ((count - first) & 1) body(std::integral_constant<int, 1>(), first);
}

// Calls body(integral_constant<int, vectors>), vectors in 1 ... kVectors.
template <class Body>
HWY_INLINE void with_vectors(int vectors, const Body& body) {
  static_assert(kVectors == 3);
  if (vectors == 3) return body(std::integral_constant<int, 3>());
  if (vectors == 2) return body(std::integral_constant<int, 2>());
  return body(std::integral_constant<int, 1>());
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
