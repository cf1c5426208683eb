// The register tiles of the decode step. D lies in lanes, since a cache has few queries and its rows are read as they
// come: a score is a dot product whose lanes are added up, sixteen of them in one go.

#if defined(QKV_SRC_OPS_ATTENTION_DECODE_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_DECODE_TILES_INL_H_
#undef QKV_SRC_OPS_ATTENTION_DECODE_TILES_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_DECODE_TILES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "src/ops/dot/dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Scores of a tile, each summed in a vector of its own: as many as registers allow.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kScoreTile = 16;
inline constexpr int kColumnVectors = 4;  // of an output tile, for each of four rows
#else
inline constexpr int kScoreTile = 8;
inline constexpr int kColumnVectors = 2;
#endif
inline constexpr int kGroupRows = 4;  // rows that share a load of K or V: 1, 2 or this many

// How a row of K or V becomes vectors of C. kVectors: vectors that one step of a row gives.
template <class C>
struct AsItIs {
  using Element = C;
  static constexpr int kVectors = 1;
  static HWY_INLINE void load(const Element* from, hn::Vec<Tag<C>>* to) { to[0] = hn::LoadU(Tag<C>(), from); }
};
struct WidenedF16 {
  using Element = f16;
  static constexpr int kVectors = 1;
  static HWY_INLINE void load(const f16* from, hn::Vec<Tag<float>>* to) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
    const Tag<float> d;
    const hn::Rebind<hwy::float16_t, Tag<float>> half;
    to[0] = hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
#else
    HWY_ALIGN float wide[hn::MaxLanes(Tag<float>())];
    widen(from, hn::Lanes(Tag<float>()), wide);
    to[0] = hn::Load(Tag<float>(), wide);
#endif
  }
};
struct WidenedBF16 {
  using Element = bf16;
  static constexpr int kVectors = 1;
  static HWY_INLINE void load(const bf16* from, hn::Vec<Tag<float>>* to) {
    const hn::RebindToUnsigned<Tag<float>> du;
    const hn::Rebind<std::uint16_t, Tag<float>> half;
    const auto bits = hn::PromoteTo(du, hn::LoadU(half, reinterpret_cast<const std::uint16_t*>(from)));
    to[0] = hn::BitCast(Tag<float>(), hn::ShiftLeft<16>(bits));
  }
};
// Two neighbours in one 32-bit lane: the even elements make one vector, the odd ones the other, for one operation each.
struct PairsOfBF16 {
  using Element = bf16;
  static constexpr int kVectors = 2;
  static HWY_INLINE void load(const bf16* from, hn::Vec<Tag<float>>* to) {
    const hn::RebindToUnsigned<Tag<float>> du;
    const auto bits = hn::LoadU(du, reinterpret_cast<const std::uint32_t*>(from));
    to[0] = hn::BitCast(Tag<float>(), hn::ShiftLeft<16>(bits));
    to[1] = hn::BitCast(Tag<float>(), hn::And(bits, hn::Set(du, 0xFFFF0000u)));
  }
};

// Lane i of the result = the sum of the lanes of sum[i]. Shape: sum [lanes].
template <class C>
HWY_INLINE hn::Vec<Tag<C>> lane_sums(const hn::Vec<Tag<C>>* sum) {
#if HWY_TARGET == HWY_SCALAR
  return sum[0];
#else
  const Tag<C> d;
  const hn::RebindToUnsigned<hn::RepartitionToWide<Tag<float>>> wide;  // pairs of floats
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag<C>()));
  constexpr int kPerBlock = 16 / sizeof(C);
  constexpr int kBlocks = kLanes / kPerBlock;
  // Inside blocks of 128 bits: block[b] holds the sums of sum[b · kPerBlock ...] over lanes of one block each.
  hn::Vec<Tag<C>> block[kBlocks];
  QKV_UNROLL
  for (int b = 0; b < kBlocks; ++b) {
    const hn::Vec<Tag<C>>* of = sum + b * kPerBlock;
    const auto first = hn::Add(hn::InterleaveLower(d, of[0], of[1]), hn::InterleaveUpper(d, of[0], of[1]));
    if constexpr (kPerBlock == 2) {
      block[b] = first;
    } else {
      const auto second = hn::Add(hn::InterleaveLower(d, of[2], of[3]), hn::InterleaveUpper(d, of[2], of[3]));
      const auto low = hn::InterleaveLower(wide, hn::BitCast(wide, first), hn::BitCast(wide, second));
      const auto high = hn::InterleaveUpper(wide, hn::BitCast(wide, first), hn::BitCast(wide, second));
      block[b] = hn::Add(hn::BitCast(d, low), hn::BitCast(d, high));
    }
  }
  // Across blocks.
  if constexpr (kBlocks == 1) {
    return block[0];
  } else if constexpr (kBlocks == 2) {
    return hn::Add(hn::ConcatLowerLower(d, block[1], block[0]), hn::ConcatUpperUpper(d, block[1], block[0]));
  } else {
    const auto even = hn::Add(hn::ConcatLowerLower(d, block[2], block[0]), hn::ConcatUpperUpper(d, block[2], block[0]));
    const auto odd = hn::Add(hn::ConcatLowerLower(d, block[3], block[1]), hn::ConcatUpperUpper(d, block[3], block[1]));
    return hn::Add(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(odd), even),
                   hn::OddEvenBlocks(odd, hn::SwapAdjacentBlocks(even)));
  }
#endif
}

// Rows that will be read soon. While a row is read, the bytes of row `rows[j]` at the same places are asked for, and at
// its end the bytes [rest_begin, rest_end), where that row is longer.
struct Ahead {
  const void* const* rows;
  std::int64_t rest_begin, rest_end;

  template <int kBytes>
  HWY_INLINE void ask(std::int64_t row, std::int64_t at) const {
    QKV_UNROLL
    for (std::int64_t line = 0; line < (kBytes + 63) / 64; ++line)
      hwy::Prefetch(static_cast<const char*>(rows[row]) + at + line * 64);
  }
  HWY_INLINE void ask_rest(std::int64_t row) const {
    for (std::int64_t at = rest_begin; at < rest_end; at += 64) hwy::Prefetch(static_cast<const char*>(rows[row]) + at);
  }
};

// scores (see ScoreLayout) of kRows rows with `count` keys: q · key · post[0] · post[1], the last factor where
// `is_split`. Shapes: keys [count rounded up to a tile] rows of `width` elements; q [kRows][width] aligned, in the
// loader's order;
//   post [2][kScoreTile].
template <int kRows, class Loader, class C>
HWY_NOINLINE void score_keys(const void* const* keys, std::int64_t count, std::int64_t width, const C* HWY_RESTRICT q,
                             const C* HWY_RESTRICT post, bool is_split, const Ahead& ahead, C* HWY_RESTRICT scores) {
  using Element = typename Loader::Element;
  const Tag<C> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag<C>()));
  constexpr int kKeys = kScoreTile / kRows;
  constexpr int kAtOnce = kKeys < 4 ? kKeys : 4;
  constexpr int kStepBytes = kLanes * Loader::kVectors * static_cast<int>(sizeof(Element));
  for (std::int64_t j = 0; j < count; j += kKeys, scores += kScoreTile) {
    hn::Vec<Tag<C>> sum[kScoreTile];
    QKV_UNROLL
    for (int i = 0; i < kScoreTile; ++i) sum[i] = hn::Zero(d);
    QKV_UNROLL
    for (int first = 0; first < kKeys; first += kAtOnce) {
      const Element* HWY_RESTRICT key[kAtOnce];
      QKV_UNROLL
      for (int i = 0; i < kAtOnce; ++i) key[i] = static_cast<const Element*>(keys[j + first + i]);
      for (std::int64_t c = 0; c < width; c += kLanes * Loader::kVectors) {
        hn::Vec<Tag<C>> k[kAtOnce][Loader::kVectors];
        QKV_UNROLL
        for (int i = 0; i < kAtOnce; ++i) {
          Loader::load(key[i] + c, k[i]);
          ahead.ask<kStepBytes>(j + first + i, c * static_cast<std::int64_t>(sizeof(Element)));
        }
        QKV_UNROLL
        for (int v = 0; v < Loader::kVectors; ++v) QKV_UNROLL
        for (int r = 0; r < kRows; ++r) {
          const auto query = hn::Load(d, q + r * width + c + v * kLanes);
          QKV_UNROLL
          for (int i = 0; i < kAtOnce; ++i)
            sum[r * kKeys + first + i] = hn::MulAdd(query, k[i][v], sum[r * kKeys + first + i]);
        }
      }
    }
    for (int i = 0; i < kKeys && ahead.rest_begin < ahead.rest_end; ++i) ahead.ask_rest(j + i);
    QKV_UNROLL
    for (int i = 0; i < kScoreTile; i += kLanes) {
      auto score = hn::Mul(lane_sums<C>(sum + i), hn::Load(d, post + i));
      if (is_split) score = hn::Mul(score, hn::Load(d, post + kScoreTile + i));
      hn::Store(score, d, scores + i);
    }
  }
}

// acc[r][c] = acc[r][c] · shrink[r] + Σ_j weights(r, j) values[j][c]   for kRows rows and kSteps steps of columns.
// Shapes: values [count] rows, the first column already added; weights as scores; acc [kRows][acc_stride] aligned.
template <int kRows, int kSteps, class Loader, class C>
HWY_NOINLINE void add_values(const void* const* values, std::int64_t column, std::int64_t count,
                             const C* HWY_RESTRICT weights, const C* HWY_RESTRICT shrink, const Ahead& ahead,
                             C* HWY_RESTRICT acc, std::int64_t acc_stride) {
  using Element = typename Loader::Element;
  const Tag<C> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag<C>()));
  constexpr int kAcross = kSteps * Loader::kVectors;  // vectors
  constexpr std::int64_t kKeys = kScoreTile / kRows;
  hn::Vec<Tag<C>> sum[kRows][kAcross];
  QKV_UNROLL
  for (int r = 0; r < kRows; ++r) QKV_UNROLL
  for (int v = 0; v < kAcross; ++v)
    sum[r][v] = hn::Mul(hn::Load(d, acc + r * acc_stride + v * kLanes), hn::Set(d, shrink[r]));
  for (std::int64_t j = 0; j < count; j += kKeys, weights += kScoreTile) {
    const std::int64_t keys = std::min(kKeys, count - j);
    for (std::int64_t i = 0; i < keys; ++i) {
      ahead.ask<kAcross * kLanes* static_cast<int>(sizeof(Element))>(
          j + i, column * static_cast<std::int64_t>(sizeof(Element)));
      ahead.ask_rest(j + i);
      const Element* HWY_RESTRICT row = static_cast<const Element*>(values[j + i]) + column;
      hn::Vec<Tag<C>> value[kAcross];
      QKV_UNROLL
      for (int s = 0; s < kSteps; ++s) Loader::load(row + s * kLanes * Loader::kVectors, value + s * Loader::kVectors);
      QKV_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const auto weight = hn::Set(d, weights[r * kKeys + i]);
        QKV_UNROLL
        for (int v = 0; v < kAcross; ++v) sum[r][v] = hn::MulAdd(weight, value[v], sum[r][v]);
      }
    }
  }
  QKV_UNROLL
  for (int r = 0; r < kRows; ++r) QKV_UNROLL
  for (int v = 0; v < kAcross; ++v) hn::Store(sum[r][v], d, acc + r * acc_stride + v * kLanes);
}

// Whether every element of the rows is a number.
template <class Loader, class C>
HWY_NOINLINE bool rows_are_finite(const void* const* rows, std::int64_t count, std::int64_t width) {
  using Element = typename Loader::Element;
  const Tag<C> d;
  const auto largest = hn::Set(d, hwy::HighestValue<C>());
  auto wrong = hn::Lt(largest, hn::Zero(d));  // none
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t c = 0; c < width; c += static_cast<std::int64_t>(hn::MaxLanes(d)) * Loader::kVectors) {
      hn::Vec<Tag<C>> value[Loader::kVectors];
      Loader::load(static_cast<const Element*>(rows[j]) + c, value);
      for (const auto& vector : value)  // NaN is not <= anything
        wrong = hn::Or(wrong, hn::Not(hn::Le(hn::Abs(vector), largest)));
    }
  return hn::AllFalse(d, wrong);
}

// add_values() of one row where a hidden value is not even multiplied by 0: 0 · NaN would be NaN. The row's weights and
// `allowed` flags of key j stand at index (j / keys) · kScoreTile + j % keys.
template <class Loader, class C>
HWY_NOINLINE void add_seen_values(const void* const* values, std::int64_t width, std::int64_t count, std::int64_t keys,
                                  const C* HWY_RESTRICT weights, const C* HWY_RESTRICT allowed, C shrink,
                                  C* HWY_RESTRICT acc) {
  using Element = typename Loader::Element;
  const Tag<C> d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(Tag<C>()));
  for (std::int64_t c = 0; c < width; c += kLanes * Loader::kVectors) {
    hn::Vec<Tag<C>> sum[Loader::kVectors];
    for (int v = 0; v < Loader::kVectors; ++v) sum[v] = hn::Mul(hn::Load(d, acc + c + v * kLanes), hn::Set(d, shrink));
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t at = j / keys * kScoreTile + j % keys;
      if (allowed[at] == C{0}) continue;
      hn::Vec<Tag<C>> value[Loader::kVectors];
      Loader::load(static_cast<const Element*>(values[j]) + c, value);
      for (int v = 0; v < Loader::kVectors; ++v) sum[v] = hn::MulAdd(hn::Set(d, weights[at]), value[v], sum[v]);
    }
    for (int v = 0; v < Loader::kVectors; ++v) hn::Store(sum[v], d, acc + c + v * kLanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
