// The online softmax of a tile of queries in lanes: running maximum, running sum, and the rescaling of what was summed
// before.

#if defined(QKV_SRC_OPS_SOFTMAX_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_SOFTMAX_SOFTMAX_INL_H_
#undef QKV_SRC_OPS_SOFTMAX_SOFTMAX_INL_H_
#else
#define QKV_SRC_OPS_SOFTMAX_SOFTMAX_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "src/ops/dot/dot-inl.h"
#include "src/ops/exp/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Scores are in units of 1/log2(e) if they were made with log2(e) folded in (then exp2 needs no multiplication), else
// natural.
enum class ScoreUnit : std::uint8_t { kLog2, kNatural };

// The state of one tile of queries: l = Σ exp(s − m) over the keys so far, acc = Σ exp(s − m) v.
// m, l [tile_width]; acc [value_width][tile_width], all aligned to a vector.
template <class C>
struct SoftmaxState {
  C* HWY_RESTRICT max;
  C* HWY_RESTRICT sum;
  C* HWY_RESTRICT acc;
  std::int64_t value_width;
};

// Nothing seen yet; a sink, in the scores' unit, counts as one key whose value is 0. -inf means no sink.
template <class C>
HWY_INLINE void reset(const SoftmaxState<C>& state, C sink) {
  constexpr std::size_t kWidth = tile_width<C>();
  const C sum = sink == -std::numeric_limits<C>::infinity() ? C{0} : C{1};
  for (std::size_t i = 0; i < kWidth; ++i) {
    state.max[i] = sink;
    state.sum[i] = sum;
  }
  const std::size_t size = static_cast<std::size_t>(state.value_width) * kWidth;
  for (std::size_t i = 0; i < size; ++i) state.acc[i] = C{0};
}

template <ScoreUnit kUnit, class D>
HWY_INLINE hn::Vec<D> exp_difference(D d, hn::Vec<D> score, hn::Vec<D> max) {
  const auto difference = hn::Sub(score, max);
  if constexpr (kUnit == ScoreUnit::kLog2)
    return exp2_nonpositive(d, difference);
  else
    return exp2_nonpositive(d, hn::Mul(difference, hn::Set(d, static_cast<hn::TFromD<D>>(1.4426950408889634))));
}

// Brings the state of one vector of queries to the maximum `max`: sum and acc shrink by exp(old − new).
template <ScoreUnit kUnit, class C>
HWY_INLINE void raise_maximum(const SoftmaxState<C>& state, std::size_t lane, hn::Vec<Tag<C>> max) {
  const Tag<C> d;
  const auto old = hn::Load(d, state.max + lane);
  const auto same = hn::Eq(old, max);  // also -inf and -inf, whose difference is NaN
  if (hn::AllTrue(d, same)) return;
  const auto shrink = hn::IfThenElse(same, hn::Set(d, C{1}), exp_difference<kUnit>(d, old, max));
  hn::Store(max, d, state.max + lane);
  hn::Store(hn::Mul(hn::Load(d, state.sum + lane), shrink), d, state.sum + lane);
  for (std::int64_t c = 0; c < state.value_width; ++c) {
    C* row = state.acc + static_cast<std::size_t>(c) * tile_width<C>() + lane;
    hn::Store(hn::Mul(hn::Load(d, row), shrink), d, row);
  }
}

// Turns scores [count][tile_width] into weights exp(s − m) in place and adds them to the state's sum.
// kMasked: `allowed` [count][tile_width] holds 1 where the key may be seen, 0 where not (the weight is then exactly 0).
template <ScoreUnit kUnit, bool kMasked, class C>
HWY_NOINLINE void weigh(const SoftmaxState<C>& state, C* HWY_RESTRICT scores, const C* HWY_RESTRICT allowed,
                        std::int64_t count) {
  const Tag<C> d;
  constexpr std::size_t kWidth = tile_width<C>();
  const auto hidden = hn::Set(d, -std::numeric_limits<C>::infinity());
  for (std::size_t lane = 0; lane < kWidth; lane += hn::MaxLanes(Tag<C>())) {
    auto max = hn::Load(d, state.max + lane);
    for (std::int64_t j = 0; j < count; ++j) {
      C* at = scores + static_cast<std::size_t>(j) * kWidth + lane;
      if constexpr (kMasked) {
        const auto seen = hn::Ne(hn::Load(d, allowed + static_cast<std::size_t>(j) * kWidth + lane), hn::Zero(d));
        hn::Store(hn::IfThenElse(seen, hn::Load(d, at), hidden), d, at);
      }
      max = hn::Max(max, hn::Load(d, at));
    }
    raise_maximum<kUnit>(state, lane, max);
    // What is hidden has the score -inf, and exp(-inf − m) is exactly 0 for every m but -inf itself: a query that has
    // seen nothing yet subtracts 0 instead.
    max = hn::Load(d, state.max + lane);
    const auto shift = hn::IfThenZeroElse(hn::Eq(max, hidden), max);
    auto sum = hn::Zero(d);  // of this block alone, so that long rows are summed in two levels
    for (std::int64_t j = 0; j < count; ++j) {
      C* at = scores + static_cast<std::size_t>(j) * kWidth + lane;
      const auto weight = exp_difference<kUnit>(d, hn::Load(d, at), shift);
      hn::Store(weight, d, at);
      sum = hn::Add(sum, weight);
    }
    hn::Store(hn::Add(hn::Load(d, state.sum + lane), sum), d, state.sum + lane);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
