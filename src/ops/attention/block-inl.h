// The forward pass of the blocks of a task, queries in lanes: pack qᵀ, walk over the keys panel by panel, divide,
// store.

#if defined(QKV_SRC_OPS_ATTENTION_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_BLOCK_INL_H_
#undef QKV_SRC_OPS_ATTENTION_BLOCK_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_BLOCK_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "src/ops/attention/forward.h"
#include "src/ops/attention/queries-inl.h"
#include "src/ops/attention/scratch-inl.h"
#include "src/ops/attention/step-inl.h"
#include "src/ops/attention/store-inl.h"
#include "src/ops/attention/tile_terms-inl.h"
#include "src/ops/attention/tile_terms.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A block on its way through the keys.
template <class C>
struct BlockRun {
  const QueryBlock* block;
  BlockState<C> state;
  BlockRanges ranges;
  ScoreUnit unit = ScoreUnit::kLog2;
  bool has_post = false;

  BlockRun(const ForwardCall& call, const QueryBlock& queries, Carver& carver)
      : block(&queries),
        state(call.shape, carver),
        ranges(call.positions, queries, static_cast<std::int64_t>(tile_width<C>())) {}
};

// Asks for the rows of a block in the order in which they lie, which the transposes do not keep: a long problem's q and
// o come from far.
template <class AnyVoid>
HWY_INLINE void prefetch_rows(const View<AnyVoid>& view, const QueryBlock& block) {
  constexpr std::int64_t kLine = 64;
  const auto size = static_cast<std::int64_t>(size_of(view.dtype));
  const auto* data = static_cast<const char*>(view.data);
  const std::int64_t bytes = view.strides[3] == 1 ? view.shape[3] * size : 0;
  for (std::int64_t i = 0; i < block.count; ++i) {
    const char* row =
        data +
        (block.batch * view.strides[0] + block.head * view.strides[1] + (block.begin + i) * view.strides[2]) * size;
    for (std::int64_t at = 0; at < bytes; at += kLine) hwy::Prefetch(row + at);
  }
}

// Scores come in units of 1/log2(e) where nothing but the scale touches them (one multiplication a score less); else,
// and where folding the scale into q would lose bits, in natural units.
template <class C>
HWY_INLINE void begin_block(const ForwardCall& call, bool has_terms, const TaskScratch<C>& scratch, BlockRun<C>& run) {
  constexpr double kLog2e = 1.4426950408889634;
  const View<const void>& q = call.inputs.q;
  const std::span<const double> sinks = call.options.sinks;
  const BlockState<C>& state = run.state;
  const int vectors = vectors_for<C>(run.block->count);
  const bool folds = !has_terms && sinks.empty();
  if (!folds) run.unit = ScoreUnit::kNatural;
  transpose_queries(q, *run.block, scratch.rows, scratch.row_stride, state.qt);
  if (!scale_queries(call.scale * (folds ? kLog2e : 1.0), q.shape[3], vectors, state.qt)) {
    run.unit = ScoreUnit::kNatural;
    run.has_post = true;
    transpose_queries(q, *run.block, scratch.rows, scratch.row_stride, state.qt);  // as they were
    bring_within_range(call.scale, q.shape[3], run.block->count, state.qt, state.post);
  }
  reset(state.softmax(call.shape.value_width), sinks.empty()
                                                   ? -std::numeric_limits<C>::infinity()
                                                   : static_cast<C>(sinks[static_cast<std::size_t>(run.block->head)]));
}

// Keys [begin, end) of one KV head, and where key `begin` of each tensor lies.
template <class C>
struct Panel {
  std::int64_t begin, end;
  Rows<C> keys, values;
};

template <class C>
HWY_INLINE Rows<C> panel_rows(const View<const void>& view, const QueryBlock& block, std::int64_t kv_head,
                              std::int64_t begin, std::int64_t end, C* buffer) {
  const std::int64_t first = block.batch * view.strides[0] + kv_head * view.strides[1] + begin * view.strides[2];
  if (readable_in_place<C>(view)) return {static_cast<const C*>(view.data) + first, view.strides[2]};
  const std::int64_t width = view.shape[3];
  for (std::int64_t j = 0; j < end - begin; ++j)
    load_row(view, first + j * view.strides[2], view.strides[3], static_cast<std::size_t>(width), buffer + j * width);
  return {buffer, width};
}

// One step of a block: keys [key, key + count) of the panel.
template <class C>
HWY_NOINLINE void visit(const ForwardCall& call, const BlockRun<C>& run, bool has_terms, const Panel<C>& panel,
                        std::int64_t key, std::int64_t count, const TaskScratch<C>& scratch) {
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  const BlockRanges& ranges = run.ranges;
  const TileExtent extent{key, count, kWidth};
  const bool by_tensor = call.keep.is_present() || call.bias.is_present() || call.options.key_mask.is_present();
  Visibility visibility = Visibility::kSome;
  if (by_tensor)
    visibility = fill_terms(call, *run.block, ranges, extent, scratch.allowed, scratch.bias);
  else if (ranges.common.begin <= key && key + count <= ranges.common.end)
    visibility = Visibility::kAll;
  if (visibility == Visibility::kNone) return;

  // Positions counted from the tile's first key, and the rows that each vector of queries needs, in whole register
  // tiles.
  HWY_ALIGN C begin[kMaxTileWidth];
  HWY_ALIGN C end[kMaxTileWidth];
  const auto within = [&](std::int64_t at) { return std::clamp<std::int64_t>(at - key, 0, count); };
  const int vectors = vectors_for<C>(run.block->count);
  std::int64_t first_row[kVectors];
  std::int64_t last_row[kVectors];
  for (int v = 0; v < vectors; ++v) {
    first_row[v] = within(ranges.begin[v * kLanes]) / kTileRows * kTileRows;
    last_row[v] = std::min(count, (within(ranges.end[(v + 1) * kLanes - 1]) + kTileRows - 1) / kTileRows * kTileRows);
  }
  const Segments segments(first_row, last_row, vectors);

  Tile<C> tile{extent, {}, {}, {begin, end, by_tensor ? scratch.allowed : nullptr}, &segments, 0, 0};
  tile.keys = {panel.keys.data + (key - panel.begin) * panel.keys.stride, panel.keys.stride};
  tile.values = {panel.values.data + (key - panel.begin) * panel.values.stride, panel.values.stride};
  if (visibility == Visibility::kAll && !has_terms) {
    tile.plain_end = count;
  } else if (!by_tensor && !has_terms) {
    tile.plain_begin = std::min(count, (within(ranges.common.begin) + kTileRows - 1) / kTileRows * kTileRows);
    tile.plain_end = within(ranges.common.end);
    if (tile.plain_end < count) tile.plain_end = tile.plain_end / kTileRows * kTileRows;
    tile.plain_end = std::max(tile.plain_begin, tile.plain_end);
  }
  if (tile.plain_end - tile.plain_begin < count)
    for (std::int64_t i = 0; i < kWidth; ++i) {
      begin[i] = static_cast<C>(within(ranges.begin[i]));
      end[i] = static_cast<C>(within(ranges.end[i]));
    }
  const C* post = run.has_post ? run.state.post : nullptr;
  if (run.unit == ScoreUnit::kLog2)
    step<ScoreUnit::kLog2>(call, *run.block, tile, post, has_terms, scratch, run.state);
  else
    step<ScoreUnit::kNatural>(call, *run.block, tile, post, has_terms, scratch, run.state);
}

// lse = max + ln(sum); -inf for an empty row.
template <class C>
HWY_NOINLINE void store_lse(const View<void>& lse, const BlockRun<C>& run) {
  constexpr double kLn2 = 0.69314718055994530942;
  const QueryBlock& block = *run.block;
  for (std::int64_t i = 0; i < block.count; ++i) {
    const C sum = run.state.sum[i];
    const double max = static_cast<double>(run.state.max[i]) * (run.unit == ScoreUnit::kLog2 ? kLn2 : 1.0);
    const double value =
        sum == C{0} ? -std::numeric_limits<double>::infinity() : max + std::log(static_cast<double>(sum));
    const std::int64_t at =
        block.batch * lse.strides[0] + block.head * lse.strides[1] + (block.begin + i) * lse.strides[2];
    if (lse.dtype == DType::kF64)
      static_cast<double*>(lse.data)[at] = value;
    else
      static_cast<float*>(lse.data)[at] = static_cast<float>(value);
  }
}

// o = acc / sum; an empty row (sum 0) is 0.
template <class C>
HWY_NOINLINE void finish_block(const ForwardCall& call, const TaskScratch<C>& scratch, const BlockRun<C>& run) {
  const Tag<C> d;
  constexpr std::size_t kLanes = hn::MaxLanes(Tag<C>());
  constexpr std::size_t kWidth = tile_width<C>();
  const View<void>& o = call.outputs.o;
  const QueryBlock& block = *run.block;
  const std::size_t lanes = static_cast<std::size_t>(vectors_for<C>(block.count)) * kLanes;
  const auto value_width = static_cast<std::size_t>(call.shape.value_width);
  for (std::size_t lane = 0; lane < lanes; lane += kLanes) {
    const auto sum = hn::Load(d, run.state.sum + lane);
    const auto empty = hn::Eq(sum, hn::Zero(d));
    const auto share =
        hn::IfThenZeroElse(empty, hn::Div(hn::Set(d, C{1}), hn::IfThenElse(empty, hn::Set(d, C{1}), sum)));
    for (std::size_t c = 0; c < value_width; ++c) {
      C* at = run.state.acc + c * kWidth + lane;
      hn::Store(hn::Mul(hn::Load(d, at), share), d, at);
    }
  }
  const std::int64_t first = block.batch * o.strides[0] + block.head * o.strides[1] + block.begin * o.strides[2];
  if (o.dtype == dtype_of<C>() && o.strides[3] == 1) {
    transpose(run.state.acc, static_cast<std::int64_t>(kWidth), call.shape.value_width, block.count,
              static_cast<C*>(o.data) + first, o.strides[2]);
  } else {
    transpose(run.state.acc, static_cast<std::int64_t>(kWidth), call.shape.value_width, block.count, scratch.rows,
              static_cast<std::int64_t>(scratch.row_stride));
    for (std::int64_t i = 0; i < block.count; ++i)
      store_row(scratch.rows + static_cast<std::size_t>(i) * scratch.row_stride, o, first + i * o.strides[2]);
  }
  if (call.outputs.lse.is_present()) store_lse(call.outputs.lse, run);
}

// Bytes of a task's scratch. A block to count with stands in for real ones: only shapes matter.
template <class C>
std::size_t task_scratch_bytes(const ForwardCall& call, int blocks_per_task) {
  Carver carver(nullptr);
  const TaskScratch<C> scratch(call, carver);
  for (int b = 0; b < blocks_per_task; ++b) const BlockState<C> state(call.shape, carver);
  return carver.used();
}

template <class C>
HWY_INLINE void run_panel(const ForwardCall& call, bool has_terms, const TaskScratch<C>& scratch, const Panel<C>& panel,
                          const BlockRun<C>& run) {
  const std::int64_t end = std::min(panel.end, run.ranges.all.end);
  for (std::int64_t key = std::max(panel.begin, run.ranges.all.begin); key < end;) {
    const std::int64_t count = std::min(kKeysPerStep, end - key);
    visit(call, run, has_terms || run.has_post, panel, key, count, scratch);
    key += count;
  }
}

// Entry of a task.
template <class C>
void run_task(const ForwardCall& call, const ForwardTask& task, void* memory) {
  Carver carver(memory);
  const TaskScratch<C> scratch(call, carver);
  const bool has_terms = call.options.softcap || call.bias.is_present() || !call.options.slopes.empty();
  alignas(BlockRun<C>) std::byte room[kMaxBlocksPerTask * sizeof(BlockRun<C>)];
  auto* runs = reinterpret_cast<BlockRun<C>*>(room);
  KeyRange all;
  for (int b = 0; b < task.count; ++b) {
    if (b == 0) prefetch_rows(call.inputs.q, task.blocks[0]);
    if (b + 1 < task.count) prefetch_rows(call.inputs.q, task.blocks[b + 1]);
    BlockRun<C>& run = *new (runs + b) BlockRun<C>(call, task.blocks[b], carver);
    begin_block(call, has_terms, scratch, run);
    const KeyRange range = run.ranges.all;
    if (range.begin == range.end) continue;
    all = all.begin == all.end ? range : KeyRange{std::min(all.begin, range.begin), std::max(all.end, range.end)};
  }
  const std::int64_t length = panel_keys(call.shape);
  const std::int64_t kv_head = task.blocks[0].head / call.shape.group();
  for (std::int64_t key = all.begin; key < all.end;) {
    const std::int64_t end = std::min(all.end, key / length * length + length);
    const QueryBlock& block = task.blocks[0];
    const Panel<C> panel{key, end, panel_rows(call.inputs.k, block, kv_head, key, end, scratch.keys),
                         panel_rows(call.inputs.v, block, kv_head, key, end, scratch.values)};
    for (int b = 0; b < task.count; ++b) run_panel(call, has_terms, scratch, panel, runs[b]);
    key = end;
  }
  for (int b = 0; b < task.count; ++b) {
    if (b + 1 < task.count) prefetch_rows(call.outputs.o, task.blocks[b + 1]);
    finish_block(call, scratch, runs[b]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
