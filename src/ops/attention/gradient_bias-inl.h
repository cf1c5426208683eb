// dbias: ds summed over the axes that the bias broadcasts, in one order. Its scores are computed once more, since what
// is summed lies in different heads, batches and panels.

#if defined(QKV_SRC_OPS_ATTENTION_GRADIENT_BIAS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_GRADIENT_BIAS_INL_H_
#undef QKV_SRC_OPS_ATTENTION_GRADIENT_BIAS_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_GRADIENT_BIAS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "src/ops/attention/backward.h"
#include "src/ops/attention/gradient_panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Indices [begin, end) of an axis that a task covers: one, or all of an axis that broadcasts.
struct AxisRange {
  std::int64_t begin, end;
};

// The part of dbias that a task owns.
struct BiasPart {
  AxisRange batches, heads, blocks, panels;

  BiasPart(const BackwardCall& call, std::int64_t task) {
    const AttentionShape& shape = call.forward.shape;
    const std::int64_t counts[] = {shape.batch, shape.query_heads, call.cuts.blocks, call.cuts.panels};
    AxisRange* const ranges[] = {&batches, &heads, &blocks, &panels};
    for (int axis = kMaxRank - 1; axis >= 0; --axis) {
      *ranges[axis] = {0, counts[axis]};
      if (call.dbias.strides[axis] == 0) continue;
      *ranges[axis] = {task % counts[axis], task % counts[axis] + 1};
      task /= counts[axis];
    }
  }
};

// sums += ds of a step. Shapes: sums [keys of the panel][2][QB] from row `row` on, or [1][2][QB] where keys are summed.
template <class C>
HWY_NOINLINE void add_step_to_bias(const GradientScratch<C>& scratch, const GradientBlock<C>& block,
                                   const StepSight<C>* steps, std::int64_t row, bool sums_keys) {
  const Tag<C> d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  for (int t = 0; t < block.count; ++t)
    for (std::int64_t j = steps[t].begin; j < steps[t].end; ++j)
      for (std::int64_t lane = 0; lane < block.tiles[t].vectors * kLanes; lane += kLanes) {
        // Lanes behind the last query hold anything.
        const auto used = hn::FirstN(d, static_cast<std::size_t>(std::min(block.tiles[t].block.count - lane, kLanes)));
        const std::int64_t column = t * kWidth + lane;
        C* at = scratch.sums + (sums_keys ? 0 : row + j) * 2 * block_width<C>() + column;
        const auto gradient = hn::IfThenElseZero(used, hn::Load(d, scratch.ds + j * block_width<C>() + column));
        // A sum and what its rounding left out of it (Knuth's two-sum): thousands of terms may nearly cancel.
        const auto before = hn::Load(d, at);
        const auto sum = hn::Add(before, gradient);
        const auto added = hn::Sub(sum, before);
        const auto lost = hn::Add(hn::Sub(before, hn::Sub(sum, added)), hn::Sub(gradient, added));
        hn::Store(sum, d, at);
        C* rest = at + block_width<C>();
        hn::Store(hn::Add(hn::Load(d, rest), lost), d, rest);
      }
}

// ds of one block against one panel, added to the sums.
template <class C>
HWY_NOINLINE void add_block_to_bias(const BackwardCall& call, const GradientScratch<C>& scratch,
                                    const QueryBlock& queries, std::int64_t panel_index) {
  const ForwardCall& forward = call.forward;
  const std::int64_t keys = call.cuts.keys_per_panel;
  const std::int64_t first_key = forward.positions.keys(queries.sequence, queries.begin).begin;
  const std::int64_t last_key = forward.positions.keys(queries.sequence, queries.begin + queries.count - 1).end;
  const std::int64_t begin = std::max(panel_index * keys, first_key);
  const std::int64_t end = std::min({panel_index * keys + keys, forward.shape.key_length, last_key});
  if (begin >= end) return;
  const GradientPanel<C> panel =
      gradient_panel(call, queries.batch, queries.head / forward.shape.group(), begin, end, scratch);
  GradientBlock<C> block = gradient_block<C>(forward, queries);
  pack_block(call, scratch, block);
  StepSight<C> steps[kTilesPerBlock];
  for (std::int64_t key = begin; key < end; key += kGradientKeys) {
    C* const no_bend = nullptr;  // dbias is the gradient behind the softcap
    const std::int64_t count = std::min(kGradientKeys, end - key);
    const bool selecting =
        !block.finite || !all_finite(panel.keys, key - begin, key - begin + count, forward.shape.width);
    if (gradients_of_step(call, scratch, block, panel, key, count, selecting, no_bend, steps))
      add_step_to_bias(scratch, block, steps, key - panel_index * keys, call.dbias.strides[3] == 0);
  }
}

inline void store_element(const View<void>& view, std::int64_t at, double value) {
  switch (view.dtype) {
    case DType::kF64: static_cast<double*>(view.data)[at] = value; break;
    case DType::kBF16: static_cast<bf16*>(view.data)[at] = to_bf16(value); break;
    case DType::kF16: static_cast<f16*>(view.data)[at] = to_f16(value); break;
    default: static_cast<float*>(view.data)[at] = static_cast<float>(value); break;
  }
}

// Stores what was summed: over the lanes too where dbias has one entry for all queries.
// Constraint: the part's blocks and panels are one each, or all of them summed.
template <class C>
HWY_NOINLINE void store_bias(const BackwardCall& call, const GradientScratch<C>& scratch, const BiasPart& part,
                             std::int64_t query_begin, std::int64_t queries) {
  const View<void>& dbias = call.dbias;
  const bool sums_queries = dbias.strides[2] == 0, sums_keys = dbias.strides[3] == 0;
  const std::int64_t first_key = part.panels.begin * call.cuts.keys_per_panel;
  const std::int64_t rows =
      sums_keys ? 1 : std::min(call.cuts.keys_per_panel, call.forward.shape.key_length - first_key);
  const std::int64_t corner = part.batches.begin * dbias.strides[0] + part.heads.begin * dbias.strides[1] +
                              query_begin * dbias.strides[2] + first_key * dbias.strides[3];
  for (std::int64_t j = 0; j < rows; ++j) {
    const C* row = scratch.sums + j * 2 * block_width<C>();
    const std::int64_t at = corner + j * dbias.strides[3];
    double sum = 0, rest = 0;
    for (std::int64_t i = 0; i < (sums_queries ? block_width<C>() : queries); ++i) {
      const auto own = static_cast<double>(row[i]), own_rest = static_cast<double>(row[block_width<C>() + i]);
      if (!sums_queries) store_element(dbias, at + i * dbias.strides[2], own + own_rest);
      const double next = sum + own, added = next - sum;
      rest += (sum - (next - added)) + (own - added) + own_rest;
      sum = next;
    }
    if (sums_queries) store_element(dbias, at, sum + rest);
  }
}

// Entry of a task.
template <class C>
HWY_NOINLINE void run_gradient_bias(const BackwardCall& call, std::int64_t task, void* memory) {
  Carver carver(memory);
  const GradientScratch<C> scratch(call, carver);
  const BiasPart part(call, task);
  const std::int64_t rows =
      call.dbias.strides[3] == 0 ? 1 : std::min(call.cuts.keys_per_panel, call.forward.shape.key_length);
  std::fill_n(scratch.sums, rows * 2 * block_width<C>(), C{0});
  std::int64_t query_begin = 0, queries = 0;
  for (std::int64_t batch = part.batches.begin; batch < part.batches.end; ++batch)
    for (std::int64_t head = part.heads.begin; head < part.heads.end; ++head) {
      wait_for_rows(call, batch, head);
      for_each_block(call, batch, head, [&](std::int64_t index, const QueryBlock& block) HWY_ATTR {
        if (index < part.blocks.begin || index >= part.blocks.end) return;
        if (call.dbias.strides[2] != 0) {
          query_begin = block.begin;
          queries = block.count;
        }
        for (std::int64_t panel = part.panels.begin; panel < part.panels.end; ++panel)
          add_block_to_bias(call, scratch, block, panel);
      });
    }
  store_bias(call, scratch, part, query_begin, queries);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
