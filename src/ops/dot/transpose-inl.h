// Transposing a small matrix, four by four elements at a time in registers: rows of tokens to lanes of queries and
// back.

#if defined(QKV_SRC_OPS_DOT_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_DOT_TRANSPOSE_INL_H_
#undef QKV_SRC_OPS_DOT_TRANSPOSE_INL_H_
#else
#define QKV_SRC_OPS_DOT_TRANSPOSE_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
inline constexpr std::int64_t kTransposeEdge = 1;
template <class C>
HWY_INLINE void transpose_square(const C* HWY_RESTRICT from, std::int64_t, C* HWY_RESTRICT to, std::int64_t) {
  *to = *from;
}
#else
inline constexpr std::int64_t kTransposeEdge = 4;
HWY_INLINE void transpose_square(const float* HWY_RESTRICT from, std::int64_t from_stride, float* HWY_RESTRICT to,
                                 std::int64_t to_stride) {
  const hn::Full128<float> d;
  const hn::Full128<double> pair;
  const auto a = hn::LoadU(d, from);
  const auto b = hn::LoadU(d, from + from_stride);
  const auto c = hn::LoadU(d, from + 2 * from_stride);
  const auto e = hn::LoadU(d, from + 3 * from_stride);
  const auto ab_low = hn::BitCast(pair, hn::InterleaveLower(d, a, b));  // a0 b0 a1 b1
  const auto ab_high = hn::BitCast(pair, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(pair, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(pair, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pair, ab_low, ce_low)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pair, ab_low, ce_low)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pair, ab_high, ce_high)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pair, ab_high, ce_high)), d, to + 3 * to_stride);
}
HWY_INLINE void transpose_square(const double* HWY_RESTRICT from, std::int64_t from_stride, double* HWY_RESTRICT to,
                                 std::int64_t to_stride) {
  const hn::Full128<double> d;
  for (int half = 0; half < 4; half += 2) {
    const double* rows = from + half * from_stride;
    for (int column = 0; column < 4; column += 2) {
      const auto a = hn::LoadU(d, rows + column);
      const auto b = hn::LoadU(d, rows + from_stride + column);
      hn::StoreU(hn::InterleaveLower(d, a, b), d, to + column * to_stride + half);
      hn::StoreU(hn::InterleaveUpper(d, a, b), d, to + (column + 1) * to_stride + half);
    }
  }
}
#endif

// Sixteen rows by four columns where a vector holds sixteen: half the shuffles a number.
#if HWY_TARGET == HWY_AVX3
HWY_INLINE void transpose_strip(const float* HWY_RESTRICT from, std::int64_t from_stride, float* HWY_RESTRICT to,
                                std::int64_t to_stride) {
  __m512 quads[4];  // quarter b of quads[i] holds four columns of row 4 b + i
  for (int i = 0; i < 4; ++i) {
    const float* row = from + i * from_stride;
    __m512 quad = _mm512_castps128_ps512(_mm_loadu_ps(row));
    quad = _mm512_mask_broadcast_f32x4(quad, 0x00F0, _mm_loadu_ps(row + 4 * from_stride));
    quad = _mm512_mask_broadcast_f32x4(quad, 0x0F00, _mm_loadu_ps(row + 8 * from_stride));
    quads[i] = _mm512_mask_broadcast_f32x4(quad, 0xF000, _mm_loadu_ps(row + 12 * from_stride));
  }
  const __m512d low01 = _mm512_castps_pd(_mm512_unpacklo_ps(quads[0], quads[1]));
  const __m512d high01 = _mm512_castps_pd(_mm512_unpackhi_ps(quads[0], quads[1]));
  const __m512d low23 = _mm512_castps_pd(_mm512_unpacklo_ps(quads[2], quads[3]));
  const __m512d high23 = _mm512_castps_pd(_mm512_unpackhi_ps(quads[2], quads[3]));
  _mm512_storeu_ps(to, _mm512_castpd_ps(_mm512_unpacklo_pd(low01, low23)));
  _mm512_storeu_ps(to + to_stride, _mm512_castpd_ps(_mm512_unpackhi_pd(low01, low23)));
  _mm512_storeu_ps(to + 2 * to_stride, _mm512_castpd_ps(_mm512_unpacklo_pd(high01, high23)));
  _mm512_storeu_ps(to + 3 * to_stride, _mm512_castpd_ps(_mm512_unpackhi_pd(high01, high23)));
}
inline constexpr std::int64_t kStripRows = 16;
#endif

// to[c][r] = from[r][c]. Shapes: from [rows, columns], to [columns, rows], strides in elements between rows of each.
// Constraint: they do not overlap; any alignment.
template <class C>
HWY_NOINLINE void transpose(const C* HWY_RESTRICT from, std::int64_t from_stride, std::int64_t rows,
                            std::int64_t columns, C* HWY_RESTRICT to, std::int64_t to_stride) {
  const std::int64_t whole_rows = rows / kTransposeEdge * kTransposeEdge;
  const std::int64_t whole_columns = columns / kTransposeEdge * kTransposeEdge;
  std::int64_t r = 0;
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(C) == 4) {
    for (; r + kStripRows <= rows; r += kStripRows) {
      for (std::int64_t c = 0; c < whole_columns; c += kTransposeEdge)
        transpose_strip(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
      for (std::int64_t c = whole_columns; c < columns; ++c)
        for (std::int64_t i = r; i < r + kStripRows; ++i) to[c * to_stride + i] = from[i * from_stride + c];
    }
  }
#endif
  for (; r < whole_rows; r += kTransposeEdge) {
    for (std::int64_t c = 0; c < whole_columns; c += kTransposeEdge)
      transpose_square(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    for (std::int64_t c = whole_columns; c < columns; ++c)
      for (std::int64_t i = r; i < r + kTransposeEdge; ++i) to[c * to_stride + i] = from[i * from_stride + c];
  }
  for (; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
