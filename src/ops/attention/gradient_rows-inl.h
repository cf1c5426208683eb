// Rows whose lse is too large to measure weights from: their largest score and sum, computed anew.

#if defined(QKV_SRC_OPS_ATTENTION_GRADIENT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_GRADIENT_ROWS_INL_H_
#undef QKV_SRC_OPS_ATTENTION_GRADIENT_ROWS_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_GRADIENT_ROWS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "src/ops/attention/backward.h"
#include "src/ops/attention/gradient_scores-inl.h"
#include "src/ops/attention/gradient_scratch-inl.h"
#include "src/ops/attention/turns.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Brings `rows` scores of a step to the running maximum and sum of their queries; what is hidden has the score −inf.
template <class C>
HWY_NOINLINE void join_scores(const QueryTile<C>& tile, std::int64_t begin, std::int64_t end, const Sight<C>* sight,
                              C* HWY_RESTRICT scores, C* HWY_RESTRICT max, C* HWY_RESTRICT sum) {
  const Tag<C> d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  const auto hidden = hn::Set(d, -std::numeric_limits<C>::infinity());
  for (std::int64_t lane = 0; lane < tile.vectors * kLanes; lane += kLanes) {
    const auto before = hn::Load(d, max + lane);
    auto largest = before;
    for (std::int64_t j = begin; j < end; ++j) {
      C* at = scores + j * block_width<C>() + lane;
      auto score = hn::Load(d, at);
      if (sight != nullptr) score = hn::IfThenElse(sight->at(j, static_cast<std::size_t>(lane)), score, hidden);
      hn::Store(score, d, at);
      largest = hn::Max(largest, score);
    }
    const auto base = hn::IfThenZeroElse(hn::Eq(largest, hidden), largest);
    const auto same = hn::Eq(before, largest);  // also −inf and −inf, whose difference is NaN
    const auto shrink = hn::IfThenElse(same, hn::Set(d, C{1}), exp_difference<ScoreUnit::kNatural>(d, before, base));
    auto total = hn::Mul(hn::Load(d, sum + lane), shrink);
    for (std::int64_t j = begin; j < end; ++j)
      total = hn::Add(total,
                      exp_difference<ScoreUnit::kNatural>(d, hn::Load(d, scores + j * block_width<C>() + lane), base));
    hn::Store(largest, d, max + lane);
    hn::Store(total, d, sum + lane);
  }
}

// The largest score of each query of a tile and the sum of its weights over exp of that, sink included.
// Constraint: the tile is packed in natural units. Shapes: max, sum [W].
template <class C>
HWY_NOINLINE void recompute_sums(const BackwardCall& call, const GradientScratch<C>& scratch, const QueryTile<C>& tile,
                                 C sink, C* HWY_RESTRICT max, C* HWY_RESTRICT sum) {
  const ForwardCall& forward = call.forward;
  const View<const void>& k = call.inputs.k;
  std::fill_n(max, tile_width<C>(), sink);
  std::fill_n(sum, tile_width<C>(), sink == -std::numeric_limits<C>::infinity() ? C{0} : C{1});
  const std::int64_t kv_head = tile.block.head / forward.shape.group();
  const std::int64_t most = std::min(kGradientKeys, call.cuts.keys_per_panel);  // what fits into scratch.keys
  const std::int64_t last = tile.ranges.all.end;
  for (std::int64_t key = tile.ranges.all.begin; key < last; key += most) {
    const std::int64_t count = std::min(most, last - key);
    StepSight<C> step;
    look_at_step(forward, tile, key, count, scratch.allowed[0], scratch.bias, step);
    if (step.is_empty()) continue;
    const Rows<C> keys =
        gradient_rows(k, tile.block.batch, kv_head, key, key + count, scratch.row_stride, scratch.keys);
    raw_products(tile, keys, key, step.begin, step.end, tile.qt, forward.shape.width, scratch.p);
    C* const no_bend = nullptr;
    apply_gradient_terms(forward, tile, key, step.begin, step.end, scratch.bias, scratch.p, no_bend);
    const Sight<C> sight = step.sight(scratch.allowed[0]);
    const Sight<C>* looked = step.plain_begin == step.begin && step.plain_end == step.end ? nullptr : &sight;
    join_scores(tile, step.begin, step.end, looked, scratch.p, max, sum);
  }
}

// shift and share of a tile's rows; share is 0 where every lse serves.
template <class C>
HWY_NOINLINE void measure_rows(const BackwardCall& call, const GradientScratch<C>& scratch, const QueryBlock& block) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::int64_t row = row_index(call, block);
  C* shift = static_cast<C*>(call.rows.shift) + row;
  C* share = static_cast<C*>(call.rows.share) + row;
  bool large = false;
  for (std::int64_t i = 0; i < block.count; ++i) {
    const double lse = statistic(call.inputs.lse, block, block.begin + i);
    const KeyRange keys = call.forward.positions.keys(block.sequence, block.begin + i);
    large |= is_large(lse, keys.end - keys.begin);
    share[i] = 0;
  }
  if (!large) return;
  QueryTile<C> tile(call.forward, block);
  tile.unit = ScoreUnit::kNatural;
  pack_scaled_queries(call.forward, scratch, scratch.of_tiles[0], tile);
  const std::span<const double> sinks = call.forward.options.sinks;
  HWY_ALIGN C max[kMaxTileWidth];
  HWY_ALIGN C sum[kMaxTileWidth];
  recompute_sums(call, scratch, tile,
                 static_cast<C>(sinks.empty() ? -kInf : sinks[static_cast<std::size_t>(block.head)]), max, sum);
  for (std::int64_t i = 0; i < block.count; ++i) {
    const bool empty = sum[i] == C{0};
    shift[i] = empty ? static_cast<C>(kInf) : max[i];
    share[i] = empty ? C{1} : C{1} / sum[i];
  }
}

// Entry of a task: a few blocks of one query head.
template <class C>
HWY_NOINLINE void run_gradient_rows(const BackwardCall& call, std::int64_t task, void* memory) {
  Carver carver(memory);
  const GradientScratch<C> scratch(call, carver);
  const std::int64_t per_head = call.cuts.row_tasks_per_head;
  const std::int64_t head = task / per_head % call.forward.shape.query_heads;
  const std::int64_t batch = task / per_head / call.forward.shape.query_heads;
  const std::int64_t begin = task % per_head * kBlocksPerRowTask;
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  for_each_block(call, batch, head, [&](std::int64_t index, const QueryBlock& block) HWY_ATTR {
    if (index < begin || index >= begin + kBlocksPerRowTask) return;
    for (std::int64_t first = 0; first < block.count; first += kWidth)
      measure_rows(call, scratch,
                   QueryBlock{batch, head, block.begin + first, std::min(kWidth, block.count - first), block.sequence});
  });
  end_rows(call, batch, head);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
