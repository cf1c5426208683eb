// One task of the backward pass: a panel of keys of one KV head, and all queries that see any of it. dk and dv are
// summed here; dq is added to what the panels before this one have left.

#if defined(QKV_SRC_OPS_ATTENTION_GRADIENT_PANEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_GRADIENT_PANEL_INL_H_
#undef QKV_SRC_OPS_ATTENTION_GRADIENT_PANEL_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_GRADIENT_PANEL_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "src/ops/attention/backward.h"
#include "src/ops/attention/gradient_block-inl.h"
#include "src/ops/attention/gradient_dq-inl.h"
#include "src/ops/attention/gradient_scores-inl.h"
#include "src/ops/attention/gradient_scratch-inl.h"
#include "src/ops/attention/gradient_sums-inl.h"
#include "src/ops/attention/turns.h"
#include "src/ops/dot/store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// p and ds of a tile where it sees nothing, in the chunks that it shares with others.
template <class C>
HWY_INLINE void clear_around(const StepSight<C>& step, std::int64_t count, C* p, C* ds) {
  const auto clear = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      std::fill_n(p + j * block_width<C>(), tile_width<C>(), C{0});
      std::fill_n(ds + j * block_width<C>(), tile_width<C>(), C{0});
    }
  };
  clear(step.begin / kChunk * kChunk, step.begin);
  clear(step.end, std::min((step.end + kChunk - 1) / kChunk * kChunk, count));
}

// p and ds of all tiles of a block in one step; answers whether any sees anything.
template <class C>
HWY_NOINLINE bool gradients_of_step(const BackwardCall& call, const GradientScratch<C>& scratch,
                                    GradientBlock<C>& block, const GradientPanel<C>& panel, std::int64_t key,
                                    std::int64_t count, bool selecting, C* bend, StepSight<C>* steps) {
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  StepArrays<C> at;
  at.keys = {panel.keys.data + (key - panel.begin) * panel.keys.stride, panel.keys.stride};
  at.values = {panel.values.data + (key - panel.begin) * panel.values.stride, panel.values.stride};
  at.bias = scratch.bias;
  at.ahead = &block.ahead;
  at.lines = block.ahead_lines;
  bool any = false;
  for (int t = 0; t < block.count; ++t) {
    at.p = scratch.p + t * kWidth;
    at.ds = scratch.ds + t * kWidth;
    at.bend = bend == nullptr ? nullptr : bend + t * kWidth;
    at.allowed = scratch.allowed[t];
    step_gradient(call.forward, block.tiles[t], key, count, selecting, at, steps[t]);
    if (steps[t].is_empty()) continue;
    any = true;
    clear_around(steps[t], count, at.p, at.ds);
  }
  return any;
}

// One step of one block: keys [key, key + count) of the panel.
template <class C>
HWY_NOINLINE void visit_step(const BackwardCall& call, const GradientScratch<C>& scratch, std::int64_t key,
                             std::int64_t count, GradientBlock<C>& block, GradientPanel<C>& panel) {
  const std::int64_t row = key - panel.begin;
  know_keys(call, scratch, key, key + count, panel);
  look_ahead_of_step(call, block.tiles[0].block, key, count, panel, block);
  const Rows<C> keys{panel.keys.data + row * panel.keys.stride, panel.keys.stride};
  const StepSums<C> sums{count, block.q, block.d_o, keys, block.dq, panel.dk.from(row), panel.dv.from(row)};
  const bool selecting = !block.finite || (!panel.finite && !all_finite(keys, 0, count, call.forward.shape.width));
  C* bend = call.forward.options.softcap ? scratch.bend : nullptr;
  StepSight<C> steps[kTilesPerBlock];
  if (!gradients_of_step(call, scratch, block, panel, key, count, selecting, bend, steps)) return;
  if (selecting) return add_selected(scratch, block, steps, sums);
  bool whole = true;
  for (int t = 0; t < block.count; ++t) whole &= steps[t].begin == 0 && steps[t].is_plain(count);
  if (!whole) return add_chunks(scratch, block, steps, key, sums);
  add_to_keys(scratch, sums, 0, count, 0, block.queries);
  if (sums.dq.data != nullptr) add_to_queries(scratch, sums, 0, count, 0, block.queries);
}

// Σ p_sink · (delta − dlse) of a block's rows.
template <class C>
HWY_NOINLINE double sink_part(const BackwardCall& call, const GradientBlock<C>& block) {
  const QueryBlock& first = block.tiles[0].block;
  const double sink = call.forward.options.sinks[static_cast<std::size_t>(first.head)];
  const auto own = static_cast<double>(static_cast<C>(sink));  // as it joined the row's largest score
  double sum = 0;
  for (int t = 0; t < block.count; ++t) {
    const QueryTile<C>& tile = block.tiles[t];
    for (std::int64_t i = 0; i < tile.block.count; ++i) {
      const double lse = statistic(call.inputs.lse, tile.block, tile.block.begin + i);
      if (!(sink > -std::numeric_limits<double>::infinity()) || lse == -std::numeric_limits<double>::infinity())
        continue;
      const double weight =
          tile.has_share ? std::exp(own - static_cast<double>(tile.shift[i])) * static_cast<double>(tile.share[i])
                         : std::exp(sink - lse);
      sum += weight * (static_cast<double>(tile.delta[i]) - static_cast<double>(tile.of_lse[i]));
    }
  }
  return sum;
}

// All that one block of queries and the panel do to each other.
template <class C>
HWY_NOINLINE void visit_block(const BackwardCall& call, const GradientScratch<C>& scratch, const QueryBlock& queries,
                              std::int64_t index, std::int64_t panel_index, GradientPanel<C>& panel) {
  const ForwardCall& forward = call.forward;
  // Positions never decrease, so the first and the last query bound what the block sees.
  const std::int64_t key_begin = forward.positions.keys(queries.sequence, queries.begin).begin;
  const std::int64_t key_end = forward.positions.keys(queries.sequence, queries.begin + queries.count - 1).end;
  const std::int64_t first_panel = call.cuts.panel_of(key_begin);
  const std::int64_t last_panel = std::max(first_panel, call.cuts.panel_of(key_end - 1));
  if (panel_index < first_panel || panel_index > last_panel) return;
  GradientBlock<C> block = gradient_block<C>(forward, queries);
  pack_block(call, scratch, block);
  const View<void>& dq = call.outputs.dq;
  const std::int64_t turn = panel_index - first_panel;
  if (call.sink_parts != nullptr && turn == 0)
    call.sink_parts[(queries.batch * forward.shape.query_heads + queries.head) * call.cuts.blocks + index] =
        sink_part(call, block);
  if (!dq.is_present() && !call.outputs.dk.is_present() && !call.outputs.dv.is_present()) return;
  const std::int64_t at =
      dq.is_present() ? queries.batch * dq.strides[0] + queries.head * dq.strides[1] + queries.begin * dq.strides[2]
                      : 0;
  const bool in_place = dq.is_present() && turn == 0 && lines_in_place<C>(dq);
  if (in_place) block.dq = {static_cast<C*>(dq.data) + at, dq.strides[2]};
  if (dq.is_present() && !in_place) block.dq = {scratch.dq, scratch.row_stride};
  for (std::int64_t i = 0; i < queries.count && dq.is_present(); ++i)
    std::fill_n(block.dq.data + i * block.dq.stride, scratch.row_stride, C{0});
  const std::int64_t end = std::min(panel.end, key_end), begin = std::max(panel.begin, key_begin);
  look_ahead(call, block);
  block.tiles_left = register_tiles(block, end - begin);
  // A block that is not computed any more ends its turn all the same: others wait for that.
  const bool stopped = call.stop != nullptr && call.stop->requested();
  // The step that is not full comes first: a diagonal at the end then lies in a single one.
  for (std::int64_t key = begin; key < end && !stopped;) {
    const std::int64_t count = (end - key) % kGradientKeys == 0 ? kGradientKeys : (end - key) % kGradientKeys;
    visit_step(call, scratch, key, count, block, panel);
    key += count;
  }
  if (dq.is_present()) hand_over_dq(call, block, index, turn, panel_index == last_panel, in_place);
}

// Where the keys from `begin` on of dk or dv are summed: in place, or in `buffer`. Nothing, where they are not asked
// for.
template <class C>
HWY_INLINE SumRows<C> sum_rows(const View<void>& to, std::int64_t batch, std::int64_t kv_head, std::int64_t begin,
                               C* buffer, std::int64_t stride) {
  if (!to.is_present()) return {};
  const std::int64_t first = batch * to.strides[0] + kv_head * to.strides[1] + begin * to.strides[2];
  if (buffer == nullptr) return {static_cast<C*>(to.data) + first, to.strides[2]};
  return {buffer, stride};
}

// Ends the sums of keys [begin, end): scaled, and rounded to their type.
template <class C>
HWY_NOINLINE void end_sums(const SumRows<C>& rows, std::int64_t batch, std::int64_t kv_head, std::int64_t begin,
                           std::int64_t end, double scale, bool in_place, const View<void>& to) {
  if (rows.data == nullptr) return;
  for (std::int64_t j = begin; j < end; ++j) {
    C* row = rows.data + (j - begin) * rows.stride;
    if (scale != 1) scale_in_place(row, to.shape[3], scale);
    if (!in_place)
      store_row(row, static_cast<std::size_t>(to.shape[3]), to,
                batch * to.strides[0] + kv_head * to.strides[1] + j * to.strides[2], to.strides[3]);
  }
}

// Entry of a task.
template <class C>
HWY_NOINLINE void run_gradient_panel(const BackwardCall& call, std::int64_t task, void* memory) {
  Carver carver(memory);
  const GradientScratch<C> scratch(call, carver);
  const AttentionShape& shape = call.forward.shape;
  const PanelTask of = panel_task(call, task);
  const std::int64_t batch = of.head / shape.kv_heads, kv_head = of.head % shape.kv_heads, panel_index = of.panel;
  wait_for_rests(call, of.head);
  const std::int64_t begin = panel_index * call.cuts.keys_per_panel;
  const std::int64_t end = std::min(begin + call.cuts.keys_per_panel, shape.key_length);
  GradientPanel<C> panel = gradient_panel(call, batch, kv_head, begin, end, scratch);
  const View<void>&dk = call.outputs.dk, &dv = call.outputs.dv;
  panel.dk = sum_rows(dk, batch, kv_head, begin, scratch.dk, scratch.row_stride);
  panel.dv = sum_rows(dv, batch, kv_head, begin, scratch.dv, scratch.value_stride);
  for (std::int64_t head = kv_head * shape.group(); head < (kv_head + 1) * shape.group(); ++head) {
    wait_for_rows(call, batch, head);
    for_each_block(call, batch, head, [&](std::int64_t index, const QueryBlock& queries) HWY_ATTR {
      visit_block(call, scratch, queries, index, panel_index, panel);
    });
  }
  know_keys(call, scratch, begin, end, panel);  // those that nobody sees are 0
  end_sums(panel.dk, batch, kv_head, begin, end, call.forward.scale, scratch.dk == nullptr, dk);
  end_sums(panel.dv, batch, kv_head, begin, end, 1.0, scratch.dv == nullptr, dv);
  end_panel(call, of.head);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
