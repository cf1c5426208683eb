// The decode step of some rows against a chunk of keys: scores, softmax and weighted values block by block; then the
// parts of all chunks merged and written out.

#if defined(QKV_SRC_OPS_ATTENTION_DECODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_DECODE_INL_H_
#undef QKV_SRC_OPS_ATTENTION_DECODE_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_DECODE_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "hwy/highway.h"
#include "src/ops/attention/decode.h"
#include "src/ops/attention/decode_rows-inl.h"
#include "src/ops/attention/decode_terms.h"
#include "src/ops/attention/decode_tiles-inl.h"
#include "src/ops/dot/dot-inl.h"
#include "src/ops/dot/store-inl.h"
#include "src/ops/exp/exp-inl.h"
#include "src/ops/softmax/merge.h"
#include "src/ops/softmax/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Scores are exponents of 2 where nothing but the scale touches them, else natural.
inline ScoreUnit unit_of(const DecodeCall& call) {
  const AttentionOptions& options = call.options;
  return options.softcap || call.bias.is_present() || !options.slopes.empty() ? ScoreUnit::kNatural : ScoreUnit::kLog2;
}
constexpr double kLog2e = 1.4426950408889634;
inline double log2_per_unit(ScoreUnit unit) { return unit == ScoreUnit::kLog2 ? 1.0 : kLog2e; }

// A chunk is read in four streams, from four places at once: on some machines one stream alone leaves a third of the
// bandwidth. The keys at places [at, at + count) of that order. Constraint: at % 4 == 0.
HWY_INLINE void keys_in_order(const KeyRange& range, std::int64_t at, std::int64_t count,
                              std::int64_t* HWY_RESTRICT keys) {
  constexpr std::int64_t kStreams = 4;
  const std::int64_t each = (range.end - range.begin) / kStreams;
  const std::int64_t streamed = std::clamp<std::int64_t>(each * kStreams - at, 0, count);
  const std::int64_t first = range.begin + at / kStreams;
  for (std::int64_t j = 0; j < streamed; j += kStreams)
    for (std::int64_t stream = 0; stream < kStreams; ++stream) keys[j + stream] = first + j / kStreams + stream * each;
  for (std::int64_t j = streamed; j < count; ++j) keys[j] = range.begin + at + j;  // what is left over
}

// rows[j] = where key keys[j] of a KV head begins in a cache tensor; the last one fills up a tile.
HWY_NOINLINE inline void find_rows(const View<const void>& cache, const PageTable& pages, const DecodeTask& task,
                                   const std::int64_t* HWY_RESTRICT keys, std::int64_t count,
                                   const void** HWY_RESTRICT rows) {
  const auto size = static_cast<std::int64_t>(size_of(cache.dtype));
  const std::int64_t outer = cache.strides[0] * size;
  const std::int64_t token = cache.strides[2] * size;
  const auto* head = static_cast<const char*>(cache.data) + task.kv_head * cache.strides[1] * size;
  if (pages.is_paged()) {
    for (std::int64_t j = 0; j < count; ++j) {
      const CacheSlot slot = pages.slot(task.batch, keys[j]);
      rows[j] = head + slot.outer * outer + slot.token * token;
    }
  } else {
    head += task.batch * outer;
    for (std::int64_t j = 0; j < count; ++j) rows[j] = head + keys[j] * token;
  }
  std::fill_n(rows + count, kScoreTile, rows[count - 1]);
}

// The keys at places [at, at + block) of a chunk's order, and where their rows lie. Answers how many there are.
HWY_INLINE std::int64_t find_block(const DecodeCall& call, const DecodeTask& task, const KeyRange& range,
                                   std::int64_t at, std::int64_t block, const BlockArrays& found) {
  const std::int64_t count = std::min(block, range.end - range.begin - at);
  keys_in_order(range, at, count, found.keys);
  find_rows(call.k, call.pages, task, found.keys, count, found.k);
  find_rows(call.v, call.pages, task, found.keys, count, found.v);
  return count;
}

// Rows that cannot be read in place, as C; `rows` then leads to the copies.
template <class C>
HWY_NOINLINE void pack_rows(const View<const void>& cache, std::int64_t count, std::int64_t padded_width,
                            const void** rows, C* to) {
  const std::int64_t width = cache.shape[3];
  for (std::int64_t j = 0; j < count; ++j, to += padded_width) {
    View<const void> row = cache;
    row.data = rows[j];
    load_row(row, 0, cache.strides[3], static_cast<std::size_t>(width), to);
    std::fill(to + width, to + padded_width, C{0});
    rows[j] = to;
  }
  for (std::int64_t j = count; j < count + kScoreTile; ++j) rows[j] = rows[count - 1];
}

// Softcap, bias and slopes, and -inf for what may not be seen (`allowed` null: everything may).
template <class C>
HWY_NOINLINE void adjust_scores(const AttentionOptions& options, std::int64_t size, const C* HWY_RESTRICT added,
                                const C* HWY_RESTRICT allowed, C* HWY_RESTRICT scores) {
  const Tag<C> d;
  const auto cap = hn::Set(d, static_cast<C>(options.softcap.value_or(1)));
  const auto hidden = hn::Set(d, -std::numeric_limits<C>::infinity());
  for (std::int64_t i = 0; i < size; i += static_cast<std::int64_t>(hn::MaxLanes(d))) {
    auto s = hn::Load(d, scores + i);
    if (options.softcap) s = hn::Mul(cap, tanh_lanes(d, hn::Div(s, cap)));
    if (added != nullptr) s = hn::Add(s, hn::Load(d, added + i));
    if (allowed != nullptr) s = hn::IfThenElse(hn::Ne(hn::Load(d, allowed + i), hn::Zero(d)), s, hidden);
    hn::Store(s, d, scores + i);
  }
}

// Turns the scores of a group into weights exp(s − max), raises max and adds to sum (both [kScoreTile], of a row once
// for each of its keys in a tile); shrink [rows] is what older sums were multiplied by.
template <ScoreUnit kUnit, class C>
HWY_NOINLINE void weigh_group(const ScoreLayout& layout, std::int64_t size, C* HWY_RESTRICT scores, C* HWY_RESTRICT max,
                              C* HWY_RESTRICT sum, C* HWY_RESTRICT shrink) {
  const Tag<C> d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  const auto hidden = hn::Set(d, -std::numeric_limits<C>::infinity());
  HWY_ALIGN C raised[kScoreTile];
  for (std::int64_t lane = 0; lane < kScoreTile; lane += kLanes) {
    auto top = hidden;
    auto other = hidden;
    std::int64_t i = lane;
    for (; i + kScoreTile < size; i += std::int64_t{2} * kScoreTile) {
      top = hn::Max(top, hn::Load(d, scores + i));
      other = hn::Max(other, hn::Load(d, scores + i + kScoreTile));
    }
    if (i < size) top = hn::Max(top, hn::Load(d, scores + i));
    hn::Store(hn::Max(top, other), d, raised + lane);
  }
  for (std::int64_t first = 0; first < kScoreTile; first += layout.keys) {
    C top = max[first];
    for (std::int64_t i = 0; i < layout.keys; ++i) top = raised[first + i] > top ? raised[first + i] : top;
    std::fill_n(raised + first, layout.keys, top);
  }
  HWY_ALIGN C factor[kScoreTile];
  for (std::int64_t lane = 0; lane < kScoreTile; lane += kLanes) {
    const auto old = hn::Load(d, max + lane);
    const auto top = hn::Load(d, raised + lane);
    const auto by =
        hn::IfThenElse(hn::Eq(old, top), hn::Set(d, C{1}), exp_difference<kUnit>(d, old, top));  // -inf = -inf too
    // exp(-inf − m) is exactly 0 for every m but -inf itself: a row that has seen nothing yet subtracts 0 instead.
    const auto shift = hn::IfThenZeroElse(hn::Eq(top, hidden), top);
    auto total = hn::Zero(d);
    for (std::int64_t i = lane; i < size; i += kScoreTile) {
      const auto weight = exp_difference<kUnit>(d, hn::Load(d, scores + i), shift);
      hn::Store(weight, d, scores + i);
      total = hn::Add(total, weight);
    }
    hn::Store(top, d, max + lane);
    hn::Store(by, d, factor + lane);
    hn::Store(hn::MulAdd(hn::Load(d, sum + lane), by, total), d, sum + lane);
  }
  for (std::int64_t first = 0; first < kScoreTile; first += layout.keys) *shrink++ = factor[first];
}

// A task under way.
template <class C>
struct DecodeRun {
  const DecodeCall& call;
  const DecodeTask& task;
  const DecodeScratch<C>& scratch;
  const DecodeSizes<C> sizes;
  const PartArrays<C>& part;
  const Reading read_k, read_v;
  const std::int64_t k_bytes, v_bytes;  // of a row
  bool is_split = false;                // scores have a second factor
  KeyRange ranges[kMostRows];           // that each row's position lets it see

  std::int64_t groups() const { return (task.row_count + kGroupRows - 1) / kGroupRows; }
  RowGroup group(std::int64_t g) const {
    const std::int64_t first = g * kGroupRows;
    return {task.row_begin + first, std::min<std::int64_t>(kGroupRows, task.row_count - first), ranges + first};
  }
};

// A block of keys, and where its neighbours in memory begin.
struct DecodeBlock {
  const BlockArrays* at = nullptr;
  std::int64_t count = 0;
  KeyRange within;
  const void* const* next_k = nullptr;  // rows of the next block's k; null if there is none
};

template <class C>
HWY_NOINLINE void score_group(const DecodeRun<C>& run, const DecodeBlock& block, std::int64_t g, bool asks_for_v,
                              Visibility visibility) {
  const RowGroup group = run.group(g);
  const ScoreLayout layout = layout_of(group.row_count);
  const auto offset = static_cast<std::size_t>(g);
  C* scores = run.scratch.scores + offset * run.scratch.block_scores;
  with_rows(group.row_count, [&](auto rows) HWY_ATTR {
    with_loader<C>(run.read_k, [&](auto loader) HWY_ATTR {
      const std::int64_t width = run.read_k == Reading::kPacked ? run.sizes.width : run.call.shape.width;
      const Ahead ahead{asks_for_v ? block.at->v : block.at->k, run.k_bytes, asks_for_v ? run.v_bytes : 0};
      score_keys<decltype(rows)::value, decltype(loader), C>(
          block.at->k, block.count, width, run.scratch.q + g * kGroupRows * run.sizes.width,
          run.scratch.post + offset * 2 * kScoreTile, run.is_split, ahead, scores);
    });
  });
  const std::int64_t size = layout.size(block.count);
  const AttentionOptions& options = run.call.options;
  const C* added = run.call.bias.is_present() || !options.slopes.empty()
                       ? run.scratch.added + offset * run.scratch.block_scores
                       : nullptr;
  const C* allowed =
      visibility == Visibility::kSome ? run.scratch.allowed + offset * run.scratch.block_scores : nullptr;
  if (options.softcap || added != nullptr || allowed != nullptr) adjust_scores(options, size, added, allowed, scores);
  for (std::int64_t r = 0; r < group.row_count; ++r)  // keys that only fill up the last tile
    for (std::int64_t j = block.count; j % layout.keys != 0; ++j)
      scores[layout.index(r, j)] = -std::numeric_limits<C>::infinity();
  C* max = run.scratch.max + offset * kScoreTile;
  C* sum = run.scratch.sum + offset * kScoreTile;
  C* shrink = run.scratch.shrink + g * kGroupRows;
  if (unit_of(run.call) == ScoreUnit::kLog2)
    weigh_group<ScoreUnit::kLog2>(layout, size, scores, max, sum, shrink);
  else
    weigh_group<ScoreUnit::kNatural>(layout, size, scores, max, sum, shrink);
}

template <int kRows, class Loader, class C>
HWY_INLINE void add_group_columns(const DecodeRun<C>& run, const DecodeBlock& block, std::int64_t g,
                                  const void* const* ahead) {
  constexpr auto kStep = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>())) * Loader::kVectors;
  constexpr int kSteps = kColumnVectors / Loader::kVectors;
  const std::int64_t width = run.read_v == Reading::kPacked ? run.sizes.value_width : run.call.shape.value_width;
  const std::int64_t stride = run.sizes.value_width;
  const C* weights = run.scratch.scores + static_cast<std::size_t>(g) * run.scratch.block_scores;
  const C* shrink = run.scratch.shrink + g * kGroupRows;
  C* acc = run.part.acc + g * kGroupRows * stride;
  std::int64_t column = 0;
  const std::int64_t row_bytes = width * static_cast<std::int64_t>(sizeof(typename Loader::Element));
  while (column < width) {
    const std::int64_t columns = column + kSteps * kStep <= width ? kSteps * kStep : kStep;
    const Ahead asked{ahead, row_bytes, column + columns == width ? run.k_bytes : 0};
    if (columns == kStep)
      add_values<kRows, 1, Loader, C>(block.at->v, column, block.count, weights, shrink, asked, acc + column, stride);
    else
      add_values<kRows, kSteps, Loader, C>(block.at->v, column, block.count, weights, shrink, asked, acc + column,
                                           stride);
    column += columns;
  }
}

template <class C>
HWY_NOINLINE void add_group(const DecodeRun<C>& run, const DecodeBlock& block, std::int64_t g, const void* const* ahead,
                            Visibility visibility) {
  const std::int64_t row_count = run.group(g).row_count;
  with_loader<C>(run.read_v, [&](auto loader) HWY_ATTR {
    using Loader = decltype(loader);
    const std::int64_t width = run.read_v == Reading::kPacked ? run.sizes.value_width : run.call.shape.value_width;
    if (visibility == Visibility::kAll || rows_are_finite<Loader, C>(block.at->v, block.count, width))
      return with_rows(row_count, [&](auto rows) HWY_ATTR {
        add_group_columns<decltype(rows)::value, Loader>(run, block, g, ahead);
      });
    const std::int64_t keys = layout_of(row_count).keys;
    const std::size_t offset = static_cast<std::size_t>(g) * run.scratch.block_scores;
    for (std::int64_t r = 0; r < row_count; ++r)
      add_seen_values<Loader, C>(block.at->v, width, block.count, keys, run.scratch.scores + offset + r * keys,
                                 run.scratch.allowed + offset + r * keys, run.scratch.shrink[g * kGroupRows + r],
                                 run.part.acc + (g * kGroupRows + r) * run.sizes.value_width);
  });
}

// Scores, weights and values of one block for all rows.
template <class C>
HWY_NOINLINE void step_block(const DecodeRun<C>& run, const DecodeBlock& block) {
  constexpr std::int64_t kMostGroups = kMostRows / kGroupRows;
  Visibility visibility[kMostGroups];
  std::int64_t first = -1;  // group that sees something, and so is the one to read K and V from memory
  for (std::int64_t g = run.groups(); g-- > 0;) {
    const RowGroup group = run.group(g);
    const KeyBlock keys{{block.at->keys, static_cast<std::size_t>(block.count)}, block.within};
    const std::size_t offset = static_cast<std::size_t>(g) * run.scratch.block_scores;
    visibility[g] = decode_terms(run.call, run.task, group, keys, layout_of(group.row_count),
                                 run.scratch.allowed + offset, run.scratch.added + offset);
    if (visibility[g] != Visibility::kNone) first = g;
  }
  if (first < 0) return;
  const bool packed_k = run.read_k == Reading::kPacked;
  const bool packed_v = run.read_v == Reading::kPacked;
  if (packed_k) pack_rows(run.call.k, block.count, run.sizes.width, block.at->k, run.scratch.k);
  if (packed_v) pack_rows(run.call.v, block.count, run.sizes.value_width, block.at->v, run.scratch.v);
  // The first group asks for rows that are needed next; the others, and where there are none, for what they read.
  for (std::int64_t g = first; g < run.groups(); ++g)
    if (visibility[g] != Visibility::kNone) score_group(run, block, g, g == first, visibility[g]);
  for (std::int64_t g = first; g < run.groups(); ++g)
    if (visibility[g] != Visibility::kNone)
      add_group(run, block, g, g == first && block.next_k != nullptr ? block.next_k : block.at->v, visibility[g]);
}

// The task's keys in up to three stretches: those in the middle that every row sees are spared all masks. The fourth is
// the next task's, not computed here but asked for.
template <class C>
HWY_INLINE void cut_by_position(const DecodeRun<C>& run, KeyRange (&stretches)[4]) {
  const KeyRange& keys = run.task.keys;
  const std::int64_t begin = std::clamp(run.ranges[run.task.row_count - 1].begin, keys.begin, keys.end);
  const std::int64_t end = std::clamp(run.ranges[0].end, begin, keys.end);
  stretches[0] = {keys.begin, begin};
  stretches[1] = {begin, end};
  stretches[2] = {end, keys.end};
  stretches[3] = run.task.next_keys;
}

template <class C>
HWY_NOINLINE void step_all_blocks(const DecodeRun<C>& run) {
  KeyRange stretches[4];
  cut_by_position(run, stretches);
  const BlockArrays* current = &run.scratch.blocks[0];
  const BlockArrays* next = &run.scratch.blocks[1];
  DecodeBlock block;
  for (int s = 0; s < 4; ++s)
    for (std::int64_t at = 0; at < stretches[s].end - stretches[s].begin; at += run.scratch.block) {
      const std::int64_t count = find_block(run.call, run.task, stretches[s], at, run.scratch.block, *next);
      if (block.count > 0) {
        for (std::int64_t j = count; j < block.count; ++j) next->k[j] = next->k[count - 1];
        block.next_k = run.read_k == Reading::kPacked ? nullptr : next->k;
        step_block(run, block);
      }
      if (s == 3) return;
      std::swap(current, next);
      block = {current, count, stretches[s], nullptr};
    }
  if (block.count > 0) step_block(run, block);
}

// Entry of a task: the rows' softmax over its keys.
template <class C>
void run_decode(const DecodeCall& call, const DecodeTask& task, void* memory, void* part_memory) {
  const DecodeScratch<C> scratch(call, memory);
  const PartArrays<C> part(call.shape, part_memory);
  const auto size = static_cast<std::int64_t>(size_of(call.k.dtype));
  DecodeRun<C> run{.call = call,
                   .task = task,
                   .scratch = scratch,
                   .sizes = DecodeSizes<C>(call.shape),
                   .part = part,
                   .read_k = reading_of<C>(call.k),
                   .read_v = reading_of<C>(call.v),
                   .k_bytes = call.shape.width * size,
                   .v_bytes = call.shape.value_width * size,
                   .ranges = {}};
  for (std::int64_t r = 0; r < task.row_count; ++r)
    run.ranges[r] = call.positions.keys(task.sequence, (task.row_begin + r) / call.shape.group());
  std::fill_n(part.acc, run.sizes.rows * static_cast<std::size_t>(run.sizes.value_width), C{0});
  std::fill_n(scratch.max, run.sizes.groups * kScoreTile, -std::numeric_limits<C>::infinity());
  std::fill_n(scratch.sum, run.sizes.groups * kScoreTile, C{0});
  if (task.keys.begin < task.keys.end) {
    run.is_split = prepare_queries(call, task, call.scale * kLog2e / log2_per_unit(unit_of(call)), run.read_k, scratch);
    step_all_blocks(run);
  }
  for (std::int64_t r = 0; r < task.row_count; ++r) {
    const std::int64_t g = r / kGroupRows;
    const std::int64_t keys = layout_of(run.group(g).row_count).keys;
    const std::int64_t at = g * kScoreTile + r % kGroupRows * keys;
    part.max[r] = scratch.max[at];
    part.sum[r] = C{0};
    for (std::int64_t i = 0; i < keys; ++i) part.sum[r] += scratch.sum[at + i];
  }
}

// o = acc / sum and lse = max + ln(sum) of one row; an empty row (sum 0) is o = 0, lse = -inf.
template <class C>
HWY_INLINE void write_row(const DecodeCall& call, const DecodeTask& task, std::int64_t r, const SoftmaxPart<C>& state,
                          C* HWY_RESTRICT row) {
  const View<void>& o = call.outputs.o;
  const View<void>& lse = call.outputs.lse;
  const std::int64_t head = task.kv_head * call.shape.group() + r % call.shape.group();
  const std::int64_t query = r / call.shape.group();
  const C share = state.sum == C{0} ? C{0} : C{1} / state.sum;
  const bool pairs = reading_of<C>(call.v) == Reading::kPairsOfBF16;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  for (std::int64_t c = 0; c < call.shape.value_width; c += 2 * kLanes)
    for (std::int64_t i = 0; i < 2 * kLanes && c + i < call.shape.value_width; ++i)
      row[c + i] = state.acc[pairs ? c + i % 2 * kLanes + i / 2 : c + i] * share;
  store_row(row, static_cast<std::size_t>(call.shape.value_width), o,
            task.batch * o.strides[0] + head * o.strides[1] + query * o.strides[2], o.strides[3]);
  if (!lse.is_present()) return;
  const double value = state.sum == C{0} ? -std::numeric_limits<double>::infinity()
                                         : static_cast<double>(state.max) / kLog2e * log2_per_unit(unit_of(call)) +
                                               std::log(static_cast<double>(state.sum));
  const std::int64_t at = task.batch * lse.strides[0] + head * lse.strides[1] + query * lse.strides[2];
  if (lse.dtype == DType::kF64)
    static_cast<double*>(lse.data)[at] = value;
  else
    static_cast<float*>(lse.data)[at] = static_cast<float>(value);
}

// Merges the chunks' parts in order, and the sink behind them; writes the task's rows.
template <class C>
void finish_decode(const DecodeCall& call, const DecodeTask& task, const DecodeParts& parts, void* memory) {
  const DecodeScratch<C> scratch(call, memory);
  const DecodeSizes<C> sizes(call.shape);
  const std::size_t part_bytes = PartArrays<C>(call.shape, nullptr).size;
  const double unit = log2_per_unit(unit_of(call));
  const std::span<const double> sinks = call.options.sinks;
  for (std::int64_t r = 0; r < task.row_count; ++r) {
    const auto part_of = [&](std::int64_t chunk) {
      const PartArrays<C> part(call.shape, parts.first + static_cast<std::size_t>(chunk) * part_bytes);
      return SoftmaxPart<C>{part.max[r], part.sum[r], part.acc + r * sizes.value_width};
    };
    SoftmaxPart<C> row = part_of(0);
    for (std::int64_t chunk = 1; chunk < parts.count; ++chunk) merge(row, part_of(chunk), sizes.value_width, unit);
    const std::int64_t of_head = task.row_begin + r;
    const std::int64_t head = task.kv_head * call.shape.group() + of_head % call.shape.group();
    if (!sinks.empty() && sinks[static_cast<std::size_t>(head)] > -std::numeric_limits<double>::infinity())
      merge(row, {static_cast<C>(sinks[static_cast<std::size_t>(head)] * kLog2e / unit), C{1}, nullptr},
            sizes.value_width, unit);
    write_row(call, task, of_head, row, scratch.row);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
