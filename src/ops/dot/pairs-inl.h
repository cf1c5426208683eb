// The two register tiles on bf16 pairs, where the CPU multiplies two bf16 at a time and adds them up in f32
// (vdpbf16ps). Highway 1.0.3 has no target for these CPUs: the tiles carry their own target attribute on AVX-512, and
// are called for Target::kAvx512Bf16 only.

#if defined(QKV_SRC_OPS_DOT_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_DOT_PAIRS_INL_H_
#undef QKV_SRC_OPS_DOT_PAIRS_INL_H_
#else
#define QKV_SRC_OPS_DOT_PAIRS_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "src/ops/dot/dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Two bf16 in 32 bits, the first one in the lower half, as row-major memory has them.
using Pair = std::uint32_t;

#if HWY_TARGET == HWY_AVX3
#define QKV_PAIRS_TARGET __attribute__((target(HWY_TARGET_STR ",avx512bf16")))

// As dot_tile, times `factor`. Shapes: rows [kRows, 2 depth] bf16, row_stride in pairs; columns [depth][tile_width]
// pairs. Subnormals count as 0 in the products.
template <int kRows, int kTileVectors>
QKV_PAIRS_TARGET HWY_NOINLINE void dot_tile_pairs(const Pair* HWY_RESTRICT rows, std::int64_t row_stride,
                                                  const Pair* HWY_RESTRICT columns, std::int64_t depth, float factor,
                                                  float* HWY_RESTRICT scores, float* HWY_RESTRICT max) {
  constexpr std::size_t kWidth = tile_width<float>();
  __m512 sum[kRows][kTileVectors];
  QKV_UNROLL
  for (int r = 0; r < kRows; ++r) QKV_UNROLL
  for (int c = 0; c < kTileVectors; ++c) sum[r][c] = _mm512_setzero_ps();
  for (std::int64_t k = 0; k < depth; ++k) {
    const Pair* HWY_RESTRICT column = columns + static_cast<std::size_t>(k) * kWidth;
    __m512bh query[kTileVectors];
    QKV_UNROLL
    for (int c = 0; c < kTileVectors; ++c) query[c] = (__m512bh)_mm512_load_si512(column + 16 * c);
    QKV_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const auto key = (__m512bh)_mm512_set1_epi32(static_cast<int>(rows[r * row_stride + k]));
      QKV_UNROLL
      for (int c = 0; c < kTileVectors; ++c) sum[r][c] = _mm512_dpbf16_ps(sum[r][c], query[c], key);
    }
  }
  const __m512 by = _mm512_set1_ps(factor);
  QKV_UNROLL
  for (int c = 0; c < kTileVectors; ++c) {
    __m512 largest = max == nullptr ? by : _mm512_load_ps(max + 16 * c);
    QKV_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const __m512 score = _mm512_mul_ps(sum[r][c], by);
      _mm512_store_ps(scores + static_cast<std::size_t>(r) * kWidth + 16 * c, score);
      largest = _mm512_max_ps(largest, score);
    }
    if (max != nullptr) _mm512_store_ps(max + 16 * c, largest);
  }
}

// As accumulate_tile over `count` pairs of keys. Shapes: values [count, >= kRows] pairs (the two keys' values of a
// column), weights [count][tile_width] pairs.
template <int kRows, int kTileVectors>
QKV_PAIRS_TARGET HWY_NOINLINE void accumulate_tile_pairs(const Pair* HWY_RESTRICT values, std::int64_t value_stride,
                                                         const Pair* HWY_RESTRICT weights, std::int64_t count,
                                                         float* HWY_RESTRICT accumulators) {
  constexpr std::size_t kWidth = tile_width<float>();
  __m512 sum[kRows][kTileVectors];
  QKV_UNROLL
  for (int r = 0; r < kRows; ++r) QKV_UNROLL
  for (int c = 0; c < kTileVectors; ++c)
    sum[r][c] = _mm512_load_ps(accumulators + static_cast<std::size_t>(r) * kWidth + 16 * c);
  for (std::int64_t j = 0; j < count; ++j) {
    const Pair* HWY_RESTRICT row = weights + static_cast<std::size_t>(j) * kWidth;
    const Pair* HWY_RESTRICT value = values + j * value_stride;
    __m512bh weight[kTileVectors];
    QKV_UNROLL
    for (int c = 0; c < kTileVectors; ++c) weight[c] = (__m512bh)_mm512_load_si512(row + 16 * c);
    QKV_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const auto v = (__m512bh)_mm512_set1_epi32(static_cast<int>(value[r]));
      QKV_UNROLL
      for (int c = 0; c < kTileVectors; ++c) sum[r][c] = _mm512_dpbf16_ps(sum[r][c], weight[c], v);
    }
  }
  QKV_UNROLL
  for (int r = 0; r < kRows; ++r) QKV_UNROLL
  for (int c = 0; c < kTileVectors; ++c)
    _mm512_store_ps(accumulators + static_cast<std::size_t>(r) * kWidth + 16 * c, sum[r][c]);
}

// Two vectors of f32 rounded to bf16 (nearest even) and laid out as pairs.
HWY_INLINE __m512i round_to_pairs(__m512 first, __m512 second) {
  const auto rounded = [](__m512 x) HWY_ATTR {
    const __m512i bits = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    return _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  };
  const __m512i low = _mm512_srli_epi32(rounded(first), 16);
  return _mm512_mask_blend_epi16(0xAAAAAAAA, low, rounded(second));
}

// weights [count][tile_width] f32 to pairs [(count + 1) / 2][tile_width] in place; the second half of an odd last one
// is 0.
inline HWY_NOINLINE void pair_weights(std::int64_t count, int vectors, float* weights) {
  constexpr std::size_t kWidth = tile_width<float>();
  for (int v = 0; v < vectors; ++v)
    for (std::int64_t j = 0; j < count; j += 2) {
      const float* from = weights + static_cast<std::size_t>(j) * kWidth + 16 * v;
      const __m512 second = j + 1 < count ? _mm512_load_ps(from + kWidth) : _mm512_setzero_ps();
      _mm512_store_si512(weights + static_cast<std::size_t>(j / 2) * kWidth + 16 * v,
                         round_to_pairs(_mm512_load_ps(from), second));
    }
}

// What queries are multiplied by so that no product of theirs overflows with any bf16 key; the scores are multiplied by
// the inverse. Exact for queries of a size between 2^-40 and 2^40, and 0.
inline constexpr float kPairQueryScale = 0x1p-56f;

// qt [depth][tile_width] pairs times kPairQueryScale, in place. Answers whether that was exact.
inline HWY_NOINLINE bool scale_query_pairs(std::int64_t depth, int vectors, Pair* qt) {
  const __m512 least = _mm512_set1_ps(0x1p-40f);
  const __m512 most = _mm512_set1_ps(0x1p40f);
  const __m512 by = _mm512_set1_ps(kPairQueryScale);
  __mmask16 inexact = 0;
  const auto scaled = [&](__m512 x) HWY_ATTR {
    const __m512 size = _mm512_abs_ps(x);
    inexact |= _mm512_cmp_ps_mask(size, most, _CMP_NLE_UQ);  // NaN too
    inexact |=
        _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NEQ_UQ), size, least, _CMP_LT_OQ);
    return _mm512_castps_si512(_mm512_mul_ps(x, by));
  };
  for (std::int64_t k = 0; k < depth; ++k)
    for (int v = 0; v < vectors; ++v) {
      Pair* at = qt + static_cast<std::size_t>(k) * tile_width<float>() + 16 * v;
      const __m512i both = _mm512_load_si512(at);
      const __m512i first = scaled(_mm512_castsi512_ps(_mm512_slli_epi32(both, 16)));
      const __m512i second = scaled(_mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32(-65536))));
      _mm512_store_si512(at, _mm512_or_si512(_mm512_srli_epi32(first, 16), second));
    }
  return inexact == 0;
}

// `count` neighbours of a row of bf16 as pairs.
HWY_INLINE void copy_pairs(const bf16* HWY_RESTRICT from, std::int64_t stride, std::int64_t count,
                           Pair* HWY_RESTRICT to) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Pair));
    return;
  }
  for (std::int64_t c = 0; c < count; ++c)
    to[c] = static_cast<Pair>(from[2 * c * stride].bits) | static_cast<Pair>(from[(2 * c + 1) * stride].bits) << 16;
}

// One row of pairs from two rows of bf16, or from one and zeros where `second` is null.
HWY_INLINE void pair_rows(const bf16* HWY_RESTRICT first, const bf16* HWY_RESTRICT second, std::int64_t stride,
                          std::int64_t width, Pair* HWY_RESTRICT to) {
  const auto pair = [](bf16 a, bf16 b) { return static_cast<Pair>(a.bits) | static_cast<Pair>(b.bits) << 16; };
  if (second == nullptr) {
    for (std::int64_t c = 0; c < width; ++c) to[c] = first[c * stride].bits;
  } else if (stride == 1) {
    for (std::int64_t c = 0; c < width; ++c) to[c] = pair(first[c], second[c]);
  } else {
    for (std::int64_t c = 0; c < width; ++c) to[c] = pair(first[c * stride], second[c * stride]);
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
