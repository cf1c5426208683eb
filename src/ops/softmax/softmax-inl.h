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
  if (hn::AllTrue(d, hn::Eq(old, hn::Set(d, -std::numeric_limits<C>::infinity())))) {  // sum and acc are still 0
    hn::Store(max, d, state.max + lane);
    return;
  }
  const auto shrink = hn::IfThenElse(same, hn::Set(d, C{1}), exp_difference<kUnit>(d, old, max));
  hn::Store(max, d, state.max + lane);
  hn::Store(hn::Mul(hn::Load(d, state.sum + lane), shrink), d, state.sum + lane);
  for (std::int64_t c = 0; c < state.value_width; ++c) {
    C* row = state.acc + static_cast<std::size_t>(c) * tile_width<C>() + lane;
    hn::Store(hn::Mul(hn::Load(d, row), shrink), d, row);
  }
}

// Turns scores [count][tile_width] into weights exp(s − m) in place and adds them to the state's sum, for the first
// `vectors` vectors of queries. `max` [tile_width] is the larger of the state's maximum and these scores'. A score of
// -inf (what is hidden) has the weight 0 exactly.
template <ScoreUnit kUnit, class C>
HWY_NOINLINE void weigh(const SoftmaxState<C>& state, C* HWY_RESTRICT scores, const C* HWY_RESTRICT max,
                        std::int64_t count, int vectors) {
  const Tag<C> d;
  constexpr std::size_t kWidth = tile_width<C>();
  constexpr std::size_t kLanes = hn::MaxLanes(Tag<C>());
  const auto hidden = hn::Set(d, -std::numeric_limits<C>::infinity());
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(vectors) * kLanes; lane += kLanes) {
    const auto raised = hn::Load(d, max + lane);
    raise_maximum<kUnit>(state, lane, raised);
    // exp(-inf − m) is exactly 0 for every m but -inf itself: a query that has seen nothing yet subtracts 0 instead.
    const auto shift = hn::IfThenZeroElse(hn::Eq(raised, hidden), raised);
    // Of this block alone, so that long rows are summed in two levels; two sums, so that none waits for the other.
    auto sum = hn::Zero(d);
    auto other = hn::Zero(d);
    C* HWY_RESTRICT at = scores + lane;
    std::int64_t j = 0;
    for (; j + 2 <= count; j += 2, at += 2 * kWidth) {
      const auto first = exp_difference<kUnit>(d, hn::Load(d, at), shift);
      const auto second = exp_difference<kUnit>(d, hn::Load(d, at + kWidth), shift);
      hn::Store(first, d, at);
      hn::Store(second, d, at + kWidth);
      sum = hn::Add(sum, first);
      other = hn::Add(other, second);
    }
    if (j < count) {
      const auto last = exp_difference<kUnit>(d, hn::Load(d, at), shift);
      hn::Store(last, d, at);
      sum = hn::Add(sum, last);
    }
    hn::Store(hn::Add(hn::Load(d, state.sum + lane), hn::Add(sum, other)), d, state.sum + lane);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
