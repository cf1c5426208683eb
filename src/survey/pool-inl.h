// Weights of a tile pooled over keys: for every query, sum and maximum of each pixel. Queries in lanes.

#if defined(QKV_SRC_SURVEY_POOL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_SURVEY_POOL_INL_H_
#undef QKV_SRC_SURVEY_POOL_INL_H_
#else
#define QKV_SRC_SURVEY_POOL_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "src/ops/attention/scratch-inl.h"
#include "src/ops/dot/dot-inl.h"
#include "src/ops/softmax/softmax-inl.h"
#include "src/survey/map_call.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The pixels of a block's rows. Weights are measured from the largest score that was known at their step; `step_of`
// says which step that was, so that all of them can be brought to the same measure at the end.
template <class C>
struct Pools {
  static constexpr std::size_t kWidth = tile_width<C>();

  C* sum;                 // [pixels][W]
  C* max;                 // [pixels][W]
  std::int32_t* step_of;  // [pixels]  −1: nothing yet
  C* shift;               // [steps][W]  what weights of a step are measured from
  C* of_step;             // [steps][W]  their sum
  C* information;         // [steps][W]  Σ w (s − shift), in the unit of the scores
  C* factor;              // [steps][W]  brings a step's weights to what they are
  C* low;                 // [W]         what the rounding of a given shift leaves

  Pools(std::int64_t pixels, std::int64_t steps, Carver& carver)
      : sum(carver.take<C>(static_cast<std::size_t>(pixels) * kWidth)),
        max(carver.take<C>(static_cast<std::size_t>(pixels) * kWidth)),
        step_of(carver.take<std::int32_t>(static_cast<std::size_t>(pixels))),
        shift(carver.take<C>(static_cast<std::size_t>(steps) * kWidth)),
        of_step(carver.take<C>(static_cast<std::size_t>(steps) * kWidth)),
        information(carver.take<C>(static_cast<std::size_t>(steps) * kWidth)),
        factor(carver.take<C>(static_cast<std::size_t>(steps) * kWidth)),
        low(carver.take<C>(kWidth)) {}
};

// exp of a number that is not positive, in the unit of the scores.
template <ScoreUnit kUnit, class D>
HWY_INLINE hn::Vec<D> weight_of_exponent(D d, hn::Vec<D> exponent) {
  if constexpr (kUnit == ScoreUnit::kLog2)
    return exp2_nonpositive(d, exponent);
  else
    return exp2_nonpositive(d, hn::Mul(exponent, hn::Set(d, static_cast<hn::TFromD<D>>(1.4426950408889634))));
}

// Brings what a pixel holds from an earlier step's measure to that of `step`.
template <ScoreUnit kUnit, class C>
HWY_NOINLINE void bring_to_step(std::int64_t pixel, std::int64_t step, int vectors, const Pools<C>& pools) {
  const Tag<C> d;
  const std::int64_t before = pools.step_of[pixel];
  if (before < 0 || before == step) return;
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(vectors) * hn::MaxLanes(d); lane += hn::MaxLanes(d)) {
    const auto old = hn::Load(d, pools.shift + static_cast<std::size_t>(before) * tile_width<C>() + lane);
    const auto now = hn::Load(d, pools.shift + static_cast<std::size_t>(step) * tile_width<C>() + lane);
    const auto shrink = hn::IfThenElse(hn::Eq(old, now), hn::Set(d, C{1}), exp_difference<kUnit>(d, old, now));
    for (C* all : {pools.sum, pools.max}) {
      C* at = all + static_cast<std::size_t>(pixel) * tile_width<C>() + lane;
      hn::Store(hn::Mul(hn::Load(d, at), shrink), d, at);
    }
  }
}

// Scores [count][W] of keys from `key` on to weights, pooled by the columns of the picture.
// kGiven: what weights are measured from was given, with `low` and without a wish for their sums.
template <ScoreUnit kUnit, bool kGiven, class C>
HWY_NOINLINE void pool_tile(const PixelAxis& columns, std::int64_t key, std::int64_t count, std::int64_t step,
                            int vectors, const C* HWY_RESTRICT scores, const Pools<C>& pools) {
  const Tag<C> d;
  constexpr std::size_t kWidth = tile_width<C>();
  const auto hidden = hn::Set(d, -std::numeric_limits<C>::infinity());
  const auto lowest = hn::Set(d, std::numeric_limits<C>::lowest());
  const std::int64_t first = columns.pixel_of(key), last = columns.pixel_of(key + count - 1);
  for (std::int64_t pixel = first; pixel <= last; ++pixel) {
    bring_to_step<kUnit>(pixel, step, vectors, pools);
    pools.step_of[pixel] = static_cast<std::int32_t>(step);
  }
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(vectors) * hn::MaxLanes(d); lane += hn::MaxLanes(d)) {
    const std::size_t of_step = static_cast<std::size_t>(step) * kWidth + lane;
    const auto largest = hn::Load(d, pools.shift + of_step);
    // A query that has seen nothing yet subtracts 0: exp(−inf) is exactly 0.
    const auto shift = hn::IfThenZeroElse(hn::Eq(largest, hidden), largest);
    const auto low = kGiven ? hn::Load(d, pools.low + lane) : hn::Zero(d);
    auto total = hn::Zero(d), information = hn::Zero(d);
    std::int64_t j = 0;
    for (std::int64_t pixel = first; pixel <= last; ++pixel) {
      const std::int64_t end = std::min(count, columns.end_of(pixel) - key);
      C* sum_at = pools.sum + static_cast<std::size_t>(pixel) * kWidth + lane;
      C* max_at = pools.max + static_cast<std::size_t>(pixel) * kWidth + lane;
      auto sum = hn::Zero(d);
      auto max = hn::Load(d, max_at);
      for (; j < end; ++j) {
        const auto score = hn::Load(d, scores + static_cast<std::size_t>(j) * kWidth + lane);
        auto exponent = hn::Sub(score, shift);
        if constexpr (kGiven) exponent = hn::Sub(exponent, low);
        const auto weight = weight_of_exponent<kUnit>(d, exponent);
        if constexpr (!kGiven) information = hn::MulAdd(weight, hn::Max(exponent, lowest), information);
        sum = hn::Add(sum, weight);
        max = hn::Max(max, weight);
      }
      hn::Store(hn::Add(hn::Load(d, sum_at), sum), d, sum_at);
      hn::Store(max, d, max_at);
      total = hn::Add(total, sum);
    }
    if constexpr (kGiven) continue;
    hn::Store(total, d, pools.of_step + of_step);
    hn::Store(information, d, pools.information + of_step);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
