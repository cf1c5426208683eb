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
#include "src/ops/attention/ahead-inl.h"
#include "src/ops/attention/forward.h"
#include "src/ops/attention/queries-inl.h"
#include "src/ops/attention/scratch-inl.h"
#include "src/ops/attention/step-inl.h"
#include "src/ops/attention/tile_terms-inl.h"
#include "src/ops/attention/tile_terms.h"
#include "src/ops/dot/store-inl.h"

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
  bool by_pairs = false;  // computed by bf16 pairs: qt holds those

  BlockRun(const ForwardCall& call, const QueryBlock& queries, Carver& carver)
      : block(&queries),
        state(call.shape, carver),
        ranges(call.positions, queries, static_cast<std::int64_t>(tile_width<C>())) {}

  // Factors that the scores are still to be multiplied with, or null.
  const C* post() const { return has_post ? state.post : nullptr; }
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

// qt as pairs, or false where that would lose bits: then the block is computed in f32 as everywhere else. Only q
// decides, since a key that nobody may see must not.
template <class C>
HWY_INLINE bool pack_pairs(const ForwardCall& call, const TaskScratch<C>& scratch, const BlockRun<C>& run) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(C) == 4) {
    constexpr double kLargestScale = 0x1p40;
    if (!(std::fabs(call.scale) <= kLargestScale) || (std::fabs(call.scale) < 1 / kLargestScale && call.scale != 0))
      return false;
    const QueryBlock& block = *run.block;
    const View<const void>& q = call.inputs.q;
    const std::int64_t first = block.batch * q.strides[0] + block.head * q.strides[1] + block.begin * q.strides[2];
    for (std::int64_t i = 0; i < block.count; ++i)
      copy_pairs(static_cast<const bf16*>(q.data) + first + i * q.strides[2], q.strides[3], q.shape[3] / 2,
                 reinterpret_cast<Pair*>(scratch.rows + static_cast<std::size_t>(i) * scratch.row_stride));
    // 32-bit words, which a transpose moves as they are.
    rows_to_lanes<float>(scratch.rows, static_cast<std::int64_t>(scratch.row_stride), block.count, q.shape[3] / 2,
                         run.state.qt);
    return scale_query_pairs(q.shape[3] / 2, vectors_for<C>(block.count), reinterpret_cast<Pair*>(run.state.qt));
  }
#endif
  (void)call, (void)scratch, (void)run;
  return false;
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
  run.by_pairs = call.by_pairs && pack_pairs(call, scratch, run);
  if (!run.by_pairs) transpose_queries(q, *run.block, scratch.rows, scratch.row_stride, state.qt);
  if (!run.by_pairs && !scale_queries(call.scale * (folds ? kLog2e : 1.0), q.shape[3], vectors, state.qt)) {
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
  Rows<C> keys, values;  // where a block needs them
  // Where a block needs them: keys in rows, and values of keys begin and begin + 1, ...; begin is even then.
  const Pair* key_pairs;
  std::int64_t key_stride;
  const Pair* value_pairs;
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

// The keys of [begin, end) in rows of whole words, in place if they lie so.
template <class C>  // written to on AVX-512 only. NOLINTNEXTLINE(readability-non-const-parameter)
HWY_NOINLINE void pair_keys(const ForwardCall& call, const QueryBlock& block, std::int64_t kv_head, Pair* buffer,
                            Panel<C>& panel) {
#if HWY_TARGET == HWY_AVX3
  const View<const void>& k = call.inputs.k;
  const auto* data = static_cast<const bf16*>(k.data) + block.batch * k.strides[0] + kv_head * k.strides[1];
  if (holds_pairs(k)) {
    panel.key_pairs = reinterpret_cast<const Pair*>(data + panel.begin * k.strides[2]);
    panel.key_stride = k.strides[2] / 2;
    return;
  }
  panel.key_pairs = buffer;
  panel.key_stride = k.shape[3] / 2;
  for (std::int64_t key = panel.begin; key < panel.end; ++key)
    copy_pairs(data + key * k.strides[2], k.strides[3], panel.key_stride,
               buffer + (key - panel.begin) * panel.key_stride);
#else
  (void)call, (void)block, (void)kv_head, (void)buffer, (void)panel;
#endif
}

// The values of [begin, end) by pairs of keys.
template <class C>
HWY_NOINLINE void pair_values(const ForwardCall& call, const QueryBlock& block, std::int64_t kv_head,
                              // written to on AVX-512 only. NOLINTNEXTLINE(readability-non-const-parameter)
                              std::int64_t begin, std::int64_t end, Pair* to) {
#if HWY_TARGET == HWY_AVX3
  const View<const void>& v = call.inputs.v;
  const auto* data = static_cast<const bf16*>(v.data) + block.batch * v.strides[0] + kv_head * v.strides[1];
  for (std::int64_t key = begin; key < end; key += 2) {
    const bf16* first = data + key * v.strides[2];
    pair_rows(first, key + 1 < end ? first + v.strides[2] : nullptr, v.strides[3], v.shape[3],
              to + (key - begin) / 2 * v.shape[3]);
  }
#else
  (void)call, (void)block, (void)kv_head, (void)begin, (void)end, (void)to;
#endif
}

// The panel's keys and values in the forms that the blocks of a task need.
template <class C>
HWY_INLINE Panel<C> make_panel(const ForwardCall& call, const ForwardTask& task, const BlockRun<C>* runs,
                               std::int64_t begin, std::int64_t end, const TaskScratch<C>& scratch) {
  const QueryBlock& block = task.blocks[0];
  const std::int64_t kv_head = block.head / call.shape.group();
  Panel<C> panel{begin, end, {}, {}, nullptr, 0, scratch.value_pairs};
  bool widened = false;
  bool paired = false;
  for (int b = 0; b < task.count; ++b) (runs[b].by_pairs ? paired : widened) = true;
  if (widened) {
    panel.keys = panel_rows(call.inputs.k, block, kv_head, begin, end, scratch.keys);
    panel.values = panel_rows(call.inputs.v, block, kv_head, begin, end, scratch.values);
  }
  if (paired) {
    pair_keys(call, block, kv_head, scratch.key_pairs, panel);
    pair_values<C>(call, block, kv_head, begin, end, scratch.value_pairs);
  }
  return panel;
}

template <class C>
HWY_INLINE PairTile pair_tile(const ForwardCall& call, const BlockRun<C>& run, const Panel<C>& panel,
                              std::int64_t key) {
  PairTile tile;
  if (!run.by_pairs) return tile;
#if HWY_TARGET == HWY_AVX3
  constexpr double kLog2e = 1.4426950408889634;
  tile.keys = panel.key_pairs + (key - panel.begin) * panel.key_stride;
  tile.key_stride = panel.key_stride;
  tile.values = panel.value_pairs + (key - panel.begin) / 2 * call.shape.value_width;
  tile.value_width = call.shape.value_width;
  const double unit = run.unit == ScoreUnit::kLog2 ? kLog2e : 1.0;
  tile.factor = static_cast<float>(call.scale * unit / double{kPairQueryScale});
#else
  (void)call, (void)panel, (void)key;
#endif
  return tile;
}

// One step of a block: keys [key, key + count) of the panel. `use(tile)` is called where any of them may be seen.
template <class C, class Use>
HWY_NOINLINE void visit(const ForwardCall& call, const BlockRun<C>& run, bool has_terms, const Panel<C>& panel,
                        std::int64_t key, std::int64_t count, const TaskScratch<C>& scratch, Ahead& ahead,
                        const Use& use) {
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

  Tile<C> tile{extent,
               {},
               {},
               pair_tile(call, run, panel, key),
               {begin, end, by_tensor ? scratch.allowed : nullptr},
               &segments,
               0,
               0,
               &ahead,
               0};
  // Few tiles may be left out of those that there would be for all queries and keys: then less is asked for.
  const std::int64_t register_tiles = (count + call.shape.value_width) / kTileRows + 1;
  tile.ahead_lines = (ahead.lines() + register_tiles - 1) / register_tiles;
  if (!run.by_pairs) {
    tile.keys = {panel.keys.data + (key - panel.begin) * panel.keys.stride, panel.keys.stride};
    tile.values = {panel.values.data + (key - panel.begin) * panel.values.stride, panel.values.stride};
  }
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
  use(tile);
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
      store_row(scratch.rows + static_cast<std::size_t>(i) * scratch.row_stride,
                static_cast<std::size_t>(call.shape.value_width), o, first + i * o.strides[2], o.strides[3]);
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

// Keys and values [begin, end) of the block's KV head, soon.
HWY_INLINE void ask_for_keys(const ForwardCall& call, const QueryBlock& block, std::int64_t begin, std::int64_t end,
                             Ahead& ahead) {
  for (const View<const void>& view : {call.inputs.k, call.inputs.v})
    ahead.add(
        view,
        block.batch * view.strides[0] + block.head / call.shape.group() * view.strides[1] + begin * view.strides[2],
        end - begin);
}

// `loads`: the task's first block brings the keys and values in, a step ahead up to key `loads`; the others find them.
template <class C, class Use>
HWY_INLINE void run_panel(const ForwardCall& call, bool has_terms, const TaskScratch<C>& scratch, const Panel<C>& panel,
                          const BlockRun<C>& run, std::int64_t loads, const Use& use) {
  const std::int64_t end = std::min(panel.end, run.ranges.all.end);
  const std::int64_t begin = run.ranges.all.begin - (run.by_pairs ? run.ranges.all.begin % 2 : 0);  // whole pairs
  for (std::int64_t key = std::max(panel.begin, begin); key < end;) {
    const std::int64_t count = std::min(kKeysPerStep, end - key);
    const std::int64_t next = key + count, after = std::min(next + kKeysPerStep, loads);
    Ahead ahead;
    ask_for_keys(call, *run.block, next, after, ahead);
    visit(call, run, has_terms || run.has_post, panel, key, count, scratch, ahead, use);
    key = next;
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
    if (b + 1 < task.count) prefetch_rows(call.inputs.q, task.blocks[b + 1]);
    BlockRun<C>& run = *new (runs + b) BlockRun<C>(call, task.blocks[b], carver);
    begin_block(call, has_terms, scratch, run);
    const KeyRange range = run.ranges.all;
    if (range.begin == range.end) continue;
    all = all.begin == all.end ? range : KeyRange{std::min(all.begin, range.begin), std::max(all.end, range.end)};
  }
  const std::int64_t length = panel_keys(call.shape);
  for (std::int64_t key = all.begin - (call.by_pairs ? all.begin % 2 : 0); key < all.end;) {
    const std::int64_t end = std::min(all.end, key / length * length + length);
    const Panel<C> panel = make_panel(call, task, runs, key, end, scratch);
    for (int b = 0; b < task.count; ++b) {
      const BlockRun<C>& run = runs[b];
      run_panel(call, has_terms, scratch, panel, run, b == 0 ? all.end : 0, [&](const Tile<C>& tile) HWY_ATTR {
        if (run.unit == ScoreUnit::kLog2)
          step<ScoreUnit::kLog2>(call, *run.block, tile, run.post(), has_terms, scratch, run.state);
        else
          step<ScoreUnit::kNatural>(call, *run.block, tile, run.post(), has_terms, scratch, run.state);
      });
    }
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
