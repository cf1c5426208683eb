// A block of queries and a panel of keys, made ready for each other.

#if defined(QKV_SRC_OPS_ATTENTION_GRADIENT_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_GRADIENT_BLOCK_INL_H_
#undef QKV_SRC_OPS_ATTENTION_GRADIENT_BLOCK_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_GRADIENT_BLOCK_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "src/ops/attention/ahead-inl.h"
#include "src/ops/attention/backward.h"
#include "src/ops/attention/gradient_scratch-inl.h"
#include "src/ops/attention/step-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A block of queries, its tiles, and which of its tensors hold something that is not finite.
template <class C>
struct GradientBlock {
  QueryTile<C> tiles[kTilesPerBlock];
  int count;  // of tiles
  std::int64_t queries;
  bool finite = true;
  Rows<C> q, d_o;  // as they are, with whole vectors of columns
  SumRows<C> dq;
  Ahead ahead;                   // what the next block reads
  std::int64_t tiles_left = 0;   // register tiles until then
  std::int64_t ahead_lines = 0;  // for each register tile to ask for
};

template <class C>
HWY_INLINE GradientBlock<C> gradient_block(const ForwardCall& call, const QueryBlock& queries) {
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  const auto part = [&](std::int64_t first) {
    return QueryBlock{queries.batch, queries.head, queries.begin + first, std::min(kWidth, queries.count - first),
                      queries.sequence};
  };
  const bool both = queries.count > kWidth;  // else the second tile is not looked at
  return {{QueryTile<C>(call, part(0)), QueryTile<C>(call, part(both ? kWidth : 0))},
          both ? 2 : 1,
          queries.count,
          true,
          {},
          {},
          {},
          {}};
}

// Keys [begin, end) of one KV head; rows from `begin` on. What is asked of all keys is done when a step first comes by.
template <class C>
struct GradientPanel {
  std::int64_t begin, end;
  Rows<C> keys, values;
  SumRows<C> dk, dv;
  std::int64_t known_begin, known_end;  // keys whose sums have begun and that were looked at
  bool finite = true;                   // the known keys are
};

template <class C>
HWY_NOINLINE GradientPanel<C> gradient_panel(const BackwardCall& call, std::int64_t batch, std::int64_t kv_head,
                                             std::int64_t begin, std::int64_t end, const GradientScratch<C>& scratch) {
  GradientPanel<C> panel{begin, end, {}, {}, {}, {}, begin, begin};
  panel.keys = gradient_rows(call.inputs.k, batch, kv_head, begin, end, scratch.row_stride, scratch.keys);
  panel.values = gradient_rows(call.inputs.v, batch, kv_head, begin, end, scratch.value_stride, scratch.values);
  return panel;
}

// Begins the sums of keys [begin, end), and looks whether they are finite.
template <class C>
HWY_NOINLINE void begin_keys(const BackwardCall& call, const GradientScratch<C>& scratch, std::int64_t begin,
                             std::int64_t end, GradientPanel<C>& panel) {
  if (begin >= end) return;
  panel.finite &= all_finite(panel.keys, begin - panel.begin, end - panel.begin, call.forward.shape.width);
  const auto clear = [&](const SumRows<C>& rows, std::int64_t width) {
    if (rows.data == nullptr) return;
    if (rows.stride == width) {
      std::fill_n(rows.data + (begin - panel.begin) * width, (end - begin) * width, C{0});
      return;
    }
    for (std::int64_t j = begin; j < end; ++j) std::fill_n(rows.from(j - panel.begin).data, width, C{0});
  };
  clear(panel.dk, scratch.row_stride);
  clear(panel.dv, scratch.value_stride);
}

// The same for whatever of keys [begin, end) is not known yet.
template <class C>
HWY_INLINE void know_keys(const BackwardCall& call, const GradientScratch<C>& scratch, std::int64_t begin,
                          std::int64_t end, GradientPanel<C>& panel) {
  if (panel.known_begin == panel.known_end) panel.known_begin = panel.known_end = begin;
  begin_keys(call, scratch, begin, panel.known_begin, panel);
  begin_keys(call, scratch, panel.known_end, end, panel);
  panel.known_begin = std::min(panel.known_begin, begin);
  panel.known_end = std::max(panel.known_end, end);
}

// A block's rows of q or do: where they lie, if vectors of them lie on whole lines, else copied.
template <class C>
HWY_INLINE Rows<C> block_rows(const View<const void>& view, const GradientBlock<C>& block, std::int64_t stride,
                              C* buffer) {
  const QueryBlock& first = block.tiles[0].block;
  const std::int64_t offset =
      first.batch * view.strides[0] + first.head * view.strides[1] + first.begin * view.strides[2];
  if (lines_in_place<C>(view)) return {static_cast<const C*>(view.data) + offset, view.strides[2]};
  for (int t = 0; t < block.count; ++t)
    load_rows(view, block.tiles[t].block, buffer + t * static_cast<std::int64_t>(tile_width<C>()) * stride, stride);
  return {buffer, stride};
}

// Packs a block: lanes for the scores, rows for what is summed over the queries.
template <class C>
HWY_NOINLINE void pack_block(const BackwardCall& call, const GradientScratch<C>& scratch, GradientBlock<C>& block) {
  const AttentionShape& shape = call.forward.shape;
  for (int t = 0; t < block.count; ++t) {
    begin_tile(call, scratch, scratch.of_tiles[t], block.tiles[t]);
    block.finite &= block.tiles[t].finite;
  }
  block.q = block_rows(call.inputs.q, block, scratch.row_stride, scratch.q);
  block.d_o = block_rows(call.inputs.d_o, block, scratch.value_stride, scratch.d_o);
  if (!block.finite)
    block.finite = all_finite(block.q, 0, block.queries, shape.width) &&
                   all_finite(block.d_o, 0, block.queries, shape.value_width);
}

// Register tiles of the scores of `count` keys.
template <class C>
HWY_INLINE std::int64_t register_tiles(const GradientBlock<C>& block, std::int64_t count) {
  return std::max<std::int64_t>(2 * block.count * (count / kTileRows), 1);
}

// How many lines each register tile of a step asks for: those of the next step's keys until then, if they are new, the
// next block's over all steps.
template <class C>
HWY_INLINE void look_ahead_of_step(const BackwardCall& call, const QueryBlock& queries, std::int64_t key,
                                   std::int64_t count, const GradientPanel<C>& panel, GradientBlock<C>& block) {
  const std::int64_t tiles = register_tiles(block, count);
  block.ahead_lines = (block.ahead.lines() + block.tiles_left - 1) / std::max<std::int64_t>(block.tiles_left, 1);
  block.tiles_left -= tiles;
  const std::int64_t begin = std::max(key + count, panel.known_end);
  const std::int64_t end = std::min(key + count + kGradientKeys, panel.end);
  if (begin >= end) return;
  const std::int64_t before = block.ahead.lines();
  const std::int64_t kv_head = queries.head / call.forward.shape.group();
  for (const View<const void>& view :
       {View<const void>(call.outputs.dk), View<const void>(call.outputs.dv), call.inputs.v, call.inputs.k})
    if (view.is_present())
      block.ahead.add(view, queries.batch * view.strides[0] + kv_head * view.strides[1] + begin * view.strides[2],
                      end - begin);
  block.ahead_lines += (block.ahead.lines() - before + tiles - 1) / tiles;
}

// Asks for what the next block, in front of this one, reads and writes.
template <class C>
HWY_INLINE void look_ahead(const BackwardCall& call, GradientBlock<C>& block) {
  const QueryBlock& queries = block.tiles[0].block;
  const std::int64_t before = std::min(call.cuts.queries_per_block, queries.begin - queries.sequence.query_begin);
  for (const View<const void>& view :
       {View<const void>(call.outputs.dq), call.inputs.o, call.inputs.d_o, call.inputs.q})
    if (view.is_present())
      block.ahead.add(
          view,
          queries.batch * view.strides[0] + queries.head * view.strides[1] + (queries.begin - before) * view.strides[2],
          before);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
