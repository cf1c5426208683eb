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

#include "hwy/highway.h"
#include "src/ops/attention/backward.h"
#include "src/ops/attention/gradient_scores-inl.h"
#include "src/ops/attention/gradient_scratch-inl.h"
#include "src/ops/attention/store-inl.h"
#include "src/ops/attention/turns.h"
#include "src/ops/dot/outer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Where a tile is not seen whole, rows are cut into chunks of so many, each as deep as its own rows see: two register
// tiles of 6 rows, one and a half of 8.
inline constexpr std::int64_t kChunk = 12;

// A block of queries, its tiles, and which of its tensors hold something that is not finite.
template <class C>
struct GradientBlock {
  QueryTile<C> tiles[kTilesPerBlock];
  int count;  // of tiles
  std::int64_t queries;
  bool finite = true;
};

template <class C>
HWY_INLINE GradientBlock<C> gradient_block(const ForwardCall& call, const QueryBlock& queries) {
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  const auto part = [&](std::int64_t first) {
    return QueryBlock{queries.batch, queries.head, queries.begin + first, std::min(kWidth, queries.count - first),
                      queries.sequence};
  };
  const bool both = queries.count > kWidth;  // else the second tile is not looked at
  return {{QueryTile<C>(call, part(0)), QueryTile<C>(call, part(both ? kWidth : 0))}, both ? 2 : 1, queries.count};
}

// Keys [begin, end) of one KV head; rows from `begin` on.
template <class C>
struct GradientPanel {
  std::int64_t begin, end;
  Rows<C> keys, values;
  bool finite;
};

template <class C>
HWY_NOINLINE GradientPanel<C> gradient_panel(const BackwardCall& call, std::int64_t batch, std::int64_t kv_head,
                                             std::int64_t begin, std::int64_t end, const GradientScratch<C>& scratch) {
  GradientPanel<C> panel{begin, end, {}, {}, true};
  panel.keys = gradient_rows(call.inputs.k, batch, kv_head, begin, end, scratch.row_stride, scratch.keys);
  panel.values = gradient_rows(call.inputs.v, batch, kv_head, begin, end, scratch.value_stride, scratch.values);
  panel.finite = all_finite(panel.keys, 0, end - begin, call.forward.shape.width);
  return panel;
}

// Packs q and do of a block: rows as they are, and lanes for the scores.
template <class C>
HWY_NOINLINE void pack_block(const BackwardCall& call, const GradientScratch<C>& scratch, GradientBlock<C>& block) {
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  const AttentionShape& shape = call.forward.shape;
  for (int t = 0; t < block.count; ++t) {
    QueryTile<C>& tile = block.tiles[t];
    begin_tile(call, scratch, scratch.of_tiles[t], tile);
    C* q = scratch.q + t * kWidth * scratch.row_stride;
    C* d_o = scratch.d_o + t * kWidth * scratch.value_stride;
    load_rows(call.inputs.q, tile.block, q, scratch.row_stride);
    load_rows(call.inputs.d_o, tile.block, d_o, scratch.value_stride);
    transpose_queries(call.inputs.d_o, tile.block, scratch.dq, static_cast<std::size_t>(scratch.value_stride),
                      tile.dot);
    block.finite &= all_finite(Rows<C>{q, scratch.row_stride}, 0, tile.block.count, shape.width);
    block.finite &= all_finite(Rows<C>{d_o, scratch.value_stride}, 0, tile.block.count, shape.value_width);
  }
}

// c[r][·] += Σ_i a(r, i) · b[i][·] over the pairs that count, one by one: what is hidden is not even multiplied by 0,
// which would make NaN of a NaN. The same bits as outer_product() where everything is finite.
template <class C>
HWY_NOINLINE void selected_product(Broadcasts<C> a, Broadcasts<C> allowed, std::int64_t rows, const C* b,
                                   std::int64_t b_stride, std::int64_t depth, C* c, std::int64_t c_stride,
                                   std::int64_t width) {
  const Tag<C> d;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < depth; ++i) {
      if (allowed.data[r * allowed.row_stride + i * allowed.step] == C{0}) continue;
      const auto factor = hn::Set(d, a.data[r * a.row_stride + i * a.step]);
      for (std::int64_t x = 0; x < width; x += static_cast<std::int64_t>(hn::Lanes(d))) {
        C* at = c + r * c_stride + x;
        hn::Store(hn::MulAdd(hn::LoadU(d, b + i * b_stride + x), factor, hn::Load(d, at)), d, at);
      }
    }
}

// A step's arrays, and the rows of dk and dv that belong to it.
template <class C>
struct StepSums {
  std::int64_t count;  // keys
  Rows<C> keys;
  C *dk, *dv;  // null where they are not asked for
};

// dv += pᵀ do and dk += dsᵀ q for keys [begin, end) of a step and queries [first, last) of a block.
template <class C>
HWY_INLINE void add_to_keys(const GradientScratch<C>& scratch, const StepSums<C>& sums, std::int64_t begin,
                            std::int64_t end, std::int64_t first, std::int64_t last) {
  if (begin >= end || first >= last) return;
  constexpr std::int64_t kStride = block_width<C>();
  const std::int64_t at = begin * kStride + first;
  const std::int64_t width = scratch.row_stride, value_width = scratch.value_stride;
  if (sums.dv != nullptr)
    outer_product<false>(Broadcasts<C>{scratch.p + at, kStride, 1}, end - begin, scratch.d_o + first * value_width,
                         value_width, last - first, sums.dv + begin * value_width, value_width, value_width);
  if (sums.dk != nullptr)
    outer_product<false>(Broadcasts<C>{scratch.ds + at, kStride, 1}, end - begin, scratch.q + first * width, width,
                         last - first, sums.dk + begin * width, width, width);
}

// dq += ds k for queries [first, last) of a block and keys [begin, end) of a step.
template <class C>
HWY_INLINE void add_to_queries(const GradientScratch<C>& scratch, const StepSums<C>& sums, std::int64_t begin,
                               std::int64_t end, std::int64_t first, std::int64_t last) {
  if (begin >= end || first >= last) return;
  constexpr std::int64_t kStride = block_width<C>();
  const std::int64_t width = scratch.row_stride;
  outer_product<false>(Broadcasts<C>{scratch.ds + begin * kStride + first, 1, kStride}, last - first,
                       sums.keys.data + begin * sums.keys.stride, sums.keys.stride, end - begin,
                       scratch.dq + first * width, width, width);
}

// The lanes [first, last) of a tile that see any of keys [begin, end), by position. Constraint: the tile has a query.
template <class C>
HWY_INLINE void seeing_lanes(const QueryTile<C>& tile, std::int64_t begin, std::int64_t end, std::int64_t& first,
                             std::int64_t& last) {
  first = 0;
  while (first < tile.block.count && tile.ranges.end[first] <= begin) ++first;
  last = tile.block.count;
  while (last > first && tile.ranges.begin[last - 1] >= end) --last;
}

// All three sums of a step whose tiles are not seen whole, chunk by chunk.
template <class C>
HWY_NOINLINE void add_chunks(const GradientScratch<C>& scratch, const GradientBlock<C>& block,
                             const StepSight<C>* steps, std::int64_t key, const StepSums<C>& sums, bool wants_dq) {
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  for (std::int64_t begin = 0; begin < sums.count; begin += kChunk) {
    const std::int64_t end = std::min(begin + kChunk, sums.count);
    std::int64_t first = block.queries, last = 0;
    for (int t = 0; t < block.count; ++t) {
      if (steps[t].is_empty() || steps[t].begin >= end || steps[t].end <= begin) continue;
      std::int64_t from = 0, to = 0;
      seeing_lanes(block.tiles[t], key + begin, key + end, from, to);
      if (from >= to) continue;
      first = std::min(first, t * kWidth + from);
      last = std::max(last, t * kWidth + to);
    }
    add_to_keys(scratch, sums, begin, end, first, last);
  }
  for (int t = 0; t < block.count && wants_dq; ++t) {
    const QueryTile<C>& tile = block.tiles[t];
    if (steps[t].is_empty()) continue;
    for (std::int64_t first = 0; first < tile.block.count; first += kChunk) {
      const std::int64_t last = std::min(first + kChunk, tile.block.count);
      const std::int64_t begin = std::clamp(tile.ranges.begin[first] - key, steps[t].begin, steps[t].end);
      const std::int64_t end = std::clamp(tile.ranges.end[last - 1] - key, steps[t].begin, steps[t].end);
      add_to_queries(scratch, sums, begin, end, t * kWidth + first, t * kWidth + last);
    }
  }
}

// The same where something is not finite.
template <class C>
HWY_NOINLINE void add_selected(const GradientScratch<C>& scratch, const GradientBlock<C>& block,
                               const StepSight<C>* steps, const StepSums<C>& sums, bool wants_dq) {
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  constexpr std::int64_t kStride = block_width<C>();
  const std::int64_t width = scratch.row_stride, value_width = scratch.value_stride;
  for (int t = 0; t < block.count; ++t) {
    if (steps[t].is_empty()) continue;
    const std::int64_t begin = steps[t].begin, rows = steps[t].end - begin, queries = block.tiles[t].block.count;
    const std::int64_t at = begin * kStride + t * kWidth;
    const C* allowed = scratch.allowed[t] + begin * kWidth;
    if (sums.dv != nullptr)
      selected_product(Broadcasts<C>{scratch.p + at, kStride, 1}, Broadcasts<C>{allowed, kWidth, 1}, rows,
                       scratch.d_o + t * kWidth * value_width, value_width, queries, sums.dv + begin * value_width,
                       value_width, value_width);
    if (sums.dk != nullptr)
      selected_product(Broadcasts<C>{scratch.ds + at, kStride, 1}, Broadcasts<C>{allowed, kWidth, 1}, rows,
                       scratch.q + t * kWidth * width, width, queries, sums.dk + begin * width, width, width);
    if (wants_dq)
      selected_product(Broadcasts<C>{scratch.ds + at, 1, kStride}, Broadcasts<C>{allowed, 1, kWidth}, queries,
                       sums.keys.data + begin * sums.keys.stride, sums.keys.stride, rows,
                       scratch.dq + t * kWidth * width, width, width);
  }
}

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
                                    const GradientBlock<C>& block, const GradientPanel<C>& panel, std::int64_t key,
                                    std::int64_t count, bool selecting, C* bend, StepSight<C>* steps) {
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  StepArrays<C> at;
  at.keys = {panel.keys.data + (key - panel.begin) * panel.keys.stride, panel.keys.stride};
  at.values = {panel.values.data + (key - panel.begin) * panel.values.stride, panel.values.stride};
  at.bias = scratch.bias;
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
HWY_NOINLINE void visit_step(const BackwardCall& call, const GradientScratch<C>& scratch, const GradientBlock<C>& block,
                             const GradientPanel<C>& panel, std::int64_t key, std::int64_t count) {
  const std::int64_t row = key - panel.begin;
  const bool wants_dq = call.outputs.dq.is_present();
  StepSums<C> sums{count, {panel.keys.data + row * panel.keys.stride, panel.keys.stride}, nullptr, nullptr};
  if (call.outputs.dk.is_present()) sums.dk = scratch.dk + row * scratch.row_stride;
  if (call.outputs.dv.is_present()) sums.dv = scratch.dv + row * scratch.value_stride;
  const bool selecting = !block.finite || (!panel.finite && !all_finite(sums.keys, 0, count, call.forward.shape.width));
  C* bend = call.forward.options.softcap ? scratch.bend : nullptr;
  StepSight<C> steps[kTilesPerBlock];
  if (!gradients_of_step(call, scratch, block, panel, key, count, selecting, bend, steps)) return;
  if (selecting) return add_selected(scratch, block, steps, sums, wants_dq);
  bool whole = true;
  for (int t = 0; t < block.count; ++t) whole &= steps[t].begin == 0 && steps[t].is_plain(count);
  if (!whole) return add_chunks(scratch, block, steps, key, sums, wants_dq);
  add_to_keys(scratch, sums, 0, count, 0, block.queries);
  if (wants_dq) add_to_queries(scratch, sums, 0, count, 0, block.queries);
}

// The result of one row, scaled. A scale that the type cannot hold waits for the product in double.
template <class C>
HWY_INLINE void scale_in_place(C* HWY_RESTRICT row, std::int64_t width, double scale) {
  const auto by = static_cast<C>(scale);
  if (by == C{0} ? scale == 0 : std::fabs(by) >= std::numeric_limits<C>::min() && std::isfinite(by)) {
    for (std::int64_t c = 0; c < width; ++c) row[c] *= by;
  } else {
    for (std::int64_t c = 0; c < width; ++c) row[c] = static_cast<C>(static_cast<double>(row[c]) * scale);
  }
}

// row += what `from` holds.
template <class C>
HWY_INLINE void add_row(const C* HWY_RESTRICT from, std::int64_t stride, std::int64_t width, C* HWY_RESTRICT row) {
  if (stride == 1) {
    for (std::int64_t c = 0; c < width; ++c) row[c] = from[c] + row[c];
  } else {
    for (std::int64_t c = 0; c < width; ++c) row[c] = from[c * stride] + row[c];
  }
}

// Adds the block's dq to that of the panels before this one, once it is this panel's turn.
template <class C>
HWY_NOINLINE void hand_over_dq(const BackwardCall& call, const GradientScratch<C>& scratch,
                               const GradientBlock<C>& block, std::int64_t index, std::int64_t turn, bool is_last) {
  const View<void>& dq = call.outputs.dq;
  const AttentionShape& shape = call.forward.shape;
  const QueryBlock& queries = block.tiles[0].block;
  const std::int64_t head = queries.batch * shape.query_heads + queries.head;
  std::int32_t* turns = call.turns + head * call.cuts.blocks + index;
  const std::int64_t first = queries.batch * dq.strides[0] + queries.head * dq.strides[1];
  for (std::int64_t i = 0; i < block.queries; ++i)
    scale_in_place(scratch.dq + i * scratch.row_stride, shape.width, call.forward.scale);
  wait_for_turn(turns, turn);
  for (std::int64_t i = 0; i < block.queries; ++i) {
    C* row = scratch.dq + i * scratch.row_stride;
    const std::int64_t at = first + (queries.begin + i) * dq.strides[2];
    C* kept = static_cast<C*>(call.dq);
    if (kept != nullptr) kept += (head * shape.query_length + queries.begin + i) * shape.width;
    if (turn > 0 && kept != nullptr) add_row(kept, 1, shape.width, row);
    if (turn > 0 && kept == nullptr) add_row(static_cast<const C*>(dq.data) + at, dq.strides[3], shape.width, row);
    if (kept == nullptr || is_last)
      store_row(row, dq, at);
    else
      std::copy_n(row, shape.width, kept);
  }
  end_turn(turns, turn);
}

// All that one block of queries and the panel do to each other.
template <class C>
HWY_NOINLINE void visit_block(const BackwardCall& call, const GradientScratch<C>& scratch, const QueryBlock& queries,
                              std::int64_t index, std::int64_t panel_index, const GradientPanel<C>& panel) {
  const ForwardCall& forward = call.forward;
  // Positions never decrease, so the first and the last query bound what the block sees.
  const std::int64_t key_begin = forward.positions.keys(queries.sequence, queries.begin).begin;
  const std::int64_t key_end = forward.positions.keys(queries.sequence, queries.begin + queries.count - 1).end;
  const std::int64_t first_panel = call.cuts.panel_of(key_begin);
  const std::int64_t last_panel = std::max(first_panel, call.cuts.panel_of(key_end - 1));
  if (panel_index < first_panel || panel_index > last_panel) return;
  GradientBlock<C> block = gradient_block<C>(forward, queries);
  pack_block(call, scratch, block);
  const bool wants_dq = call.outputs.dq.is_present();
  if (wants_dq) std::fill_n(scratch.dq, queries.count * scratch.row_stride, C{0});
  const std::int64_t end = std::min(panel.end, key_end);
  for (std::int64_t key = std::max(panel.begin, key_begin); key < end; key += kGradientKeys)
    visit_step(call, scratch, block, panel, key, std::min(kGradientKeys, end - key));
  if (wants_dq) hand_over_dq(call, scratch, block, index, panel_index - first_panel, panel_index == last_panel);
}

// Rows [begin, end) of dk or dv: rounded to its type, scaled.
template <class C>
HWY_NOINLINE void store_panel(C* HWY_RESTRICT rows, std::int64_t stride, std::int64_t batch, std::int64_t kv_head,
                              std::int64_t begin, std::int64_t end, double scale, const View<void>& to) {
  for (std::int64_t j = begin; j < end; ++j) {
    C* row = rows + (j - begin) * stride;
    if (scale != 1) scale_in_place(row, to.shape[3], scale);
    store_row(row, to, batch * to.strides[0] + kv_head * to.strides[1] + j * to.strides[2]);
  }
}

// Entry of a task. Panels of a KV head follow each other, so that its queries stay in the cache.
template <class C>
HWY_NOINLINE void run_gradient_panel(const BackwardCall& call, std::int64_t task, void* memory) {
  Carver carver(memory);
  const GradientScratch<C> scratch(call, carver);
  const AttentionShape& shape = call.forward.shape;
  const std::int64_t panel_index = task % call.cuts.panels;
  const std::int64_t kv_head = task / call.cuts.panels % shape.kv_heads;
  const std::int64_t batch = task / call.cuts.panels / shape.kv_heads;
  const std::int64_t begin = panel_index * call.cuts.keys_per_panel;
  const std::int64_t end = std::min(begin + call.cuts.keys_per_panel, shape.key_length);
  const GradientPanel<C> panel = gradient_panel(call, batch, kv_head, begin, end, scratch);
  const View<void>&dk = call.outputs.dk, &dv = call.outputs.dv;
  if (dk.is_present()) std::fill_n(scratch.dk, (end - begin) * scratch.row_stride, C{0});
  if (dv.is_present()) std::fill_n(scratch.dv, (end - begin) * scratch.value_stride, C{0});
  for (std::int64_t head = kv_head * shape.group(); head < (kv_head + 1) * shape.group(); ++head) {
    wait_for_rows(call, batch, head);
    for_each_block(call, batch, head, [&](std::int64_t index, const QueryBlock& queries) HWY_ATTR {
      visit_block(call, scratch, queries, index, panel_index, panel);
    });
  }
  if (dk.is_present()) store_panel(scratch.dk, scratch.row_stride, batch, kv_head, begin, end, call.forward.scale, dk);
  if (dv.is_present()) store_panel(scratch.dv, scratch.value_stride, batch, kv_head, begin, end, 1.0, dv);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
