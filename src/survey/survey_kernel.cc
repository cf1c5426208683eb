// One block of queries against the keys that it may see: compiled once per SIMD target, dispatched at the end of the
// file.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "src/survey/survey_call.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/survey/survey_kernel.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/survey/scores-inl.h"
#include "src/survey/weigh_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {

template <class C>
std::size_t survey_scratch_bytes(const SurveyCall& call) {
  Carver carver(nullptr);
  const TaskScratch<C> scratch(call.forward, carver);
  const BlockState<C> state(call.forward.shape, carver);
  const BlockSums<C> sums(carver);
  return carver.used();
}

// The largest score of every query and the sum of its weights beside that, in the state of the block. From those the
// weights are measured: lse in f32 would make all weights of a row wrong by its rounding.
template <class C>
HWY_NOINLINE void sum_rows(const ForwardCall& call, const BlockRun<C>& run, const TaskScratch<C>& scratch) {
  const int vectors = vectors_for<C>(run.block->count);
  const SoftmaxState<C> state = run.state.softmax(0);
  for_each_tile_of_scores(call, run, scratch, {0, call.shape.key_length}, [&](const TileExtent& tile) HWY_ATTR {
    if (run.unit == ScoreUnit::kLog2)
      weigh<ScoreUnit::kLog2>(state, scratch.scores, scratch.block_max, tile.count, vectors);
    else
      weigh<ScoreUnit::kNatural>(state, scratch.scores, scratch.block_max, tile.count, vectors);
  });
}

// A row that sees nothing, is padding, or whose scores are not finite, has no weights.
template <class C>
void begin_sums(const SurveyCall& call, const BlockRun<C>& run, const BlockSums<C>& sums, ChunkTotals& totals) {
  sums.clear();
  const QueryBlock& block = *run.block;
  for (std::size_t i = 0; i < tile_width<C>(); ++i) {
    sums.shift[i] = sums.low[i] = sums.counts[i] = C{0};
    const auto row = static_cast<std::int64_t>(i);
    if (row >= block.count || run.state.sum[i] == C{0}) continue;
    if (call.padding.hides(block.batch, call.position(block.sequence, block.begin + row))) continue;
    if (!std::isfinite(run.state.sum[i]) || !std::isfinite(run.state.max[i])) {
      totals.rows.add_not_finite();
      continue;
    }
    sums.counts[i] = C{1};
    sums.shift[i] = run.state.max[i];
    sums.low[i] = run.unit == ScoreUnit::kLog2 ? std::log2(run.state.sum[i]) : std::log(run.state.sum[i]);
  }
}

// The weights of keys that each query stands in a relation to: the first, its own and the one before, and those that
// its token names.
template <class C>
void pick_keys(const SurveyCall& call, const QueryBlock& block, const TileExtent& tile, const C* HWY_RESTRICT weights,
               const BlockSums<C>& sums) {
  using Sums = BlockSums<C>;
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  const auto weight = [&](std::int64_t key, std::int64_t i) {
    return tile.key <= key && key < tile.key + tile.count ? static_cast<double>(weights[(key - tile.key) * kWidth + i])
                                                          : 0.0;
  };
  const bool has_tokens = !call.tokens.empty();
  for (std::int64_t i = 0; i < block.count; ++i) {
    const std::int64_t position = call.position(block.sequence, block.begin + i);
    const auto add = [&](typename Sums::Place place, double more) { sums.at_key[place * kWidth + i] += more; };
    add(Sums::kPrevious, weight(position - 1, i));
    add(Sums::kSelf, weight(position, i));
    add(Sums::kNext, weight(position + 1, i));
    if (!has_tokens) continue;
    const std::span<const std::int64_t> places = call.tokens[static_cast<std::size_t>(block.batch)].like(position);
    // Keys of the same token in the tile, and keys right behind one.
    auto place = std::lower_bound(places.begin(), places.end(), tile.key - 1);
    for (; place != places.end() && *place < tile.key + tile.count; ++place) {
      if (*place < position) add(Sums::kDuplicate, weight(*place, i));
      add(Sums::kInduction, weight(*place + 1, i));
    }
  }
}

// Whether each query may see the first key and its own, where they lie in this tile.
template <class C>
void note_seen(std::int64_t first, std::int64_t first_key, const TileExtent& tile, const C* HWY_RESTRICT scores,
               const BlockSums<C>& sums) {
  using Sums = BlockSums<C>;
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  const auto is_seen = [&](std::int64_t row, std::int64_t i) {
    return scores[row * kWidth + i] == -std::numeric_limits<C>::infinity() ? 0.0 : 1.0;
  };
  for (std::int64_t i = 0; i < kWidth; ++i) {
    if (0 <= first_key && first_key < tile.count) sums.at_key[Sums::kFirstSeen * kWidth + i] = is_seen(first_key, i);
    if (const std::int64_t own = first + i; 0 <= own && own < tile.count)
      sums.at_key[Sums::kSelfSeen * kWidth + i] = is_seen(own, i);
  }
}

// A tile whose scores lie in scratch.scores.
template <class C>
HWY_NOINLINE void weigh_tile(const SurveyCall& call, const BlockRun<C>& run, const TileExtent& tile,
                             C* HWY_RESTRICT scores, const BlockSums<C>& sums, ChunkTotals& totals) {
  constexpr std::size_t kWidth = tile_width<C>();
  const QueryBlock& block = *run.block;
  const int vectors = vectors_for<C>(block.count);
  const std::int64_t first = call.position(block.sequence, block.begin) - tile.key;
  for (std::size_t i = 0; i < kWidth; ++i) sums.position[i] = static_cast<C>(first + static_cast<std::int64_t>(i));
  const std::int64_t first_key = call.padding.first_key(block.batch) - tile.key;
  note_seen(first, first_key, tile, scores, sums);
  if (run.unit == ScoreUnit::kLog2)
    weigh_queries<ScoreUnit::kLog2>(tile.count, vectors, first, scores, sums);
  else
    weigh_queries<ScoreUnit::kNatural>(tile.count, vectors, first, scores, sums);
  for (std::size_t at = 0; at < kSums * kWidth; ++at) sums.total[at] += static_cast<double>(sums.of_tile[at]);
  for (std::size_t i = 0; i < kWidth; ++i) {
    if (sums.last_seen[i] >= 0)
      sums.last_key[i] = static_cast<double>(tile.key) + static_cast<double>(sums.last_seen[i]);
    if (0 <= first_key && first_key < tile.count)
      sums.at_key[BlockSums<C>::kFirst * kWidth + i] =
          static_cast<double>(scores[static_cast<std::size_t>(first_key) * kWidth + i]);
  }
  pick_keys(call, block, tile, scores, sums);
  add_columns(tile.count, vectors, scores, totals.columns.mass.data() + tile.key);
  for (std::int64_t j = 0; j < tile.count; ++j)
    totals.columns.rows[static_cast<std::size_t>(tile.key + j)] += sums.rows_of_key[j];
}

template <class C>
void finish_rows(const SurveyCall& call, const BlockRun<C>& run, const BlockSums<C>& sums, ChunkTotals& totals) {
  using Sums = BlockSums<C>;
  const QueryBlock& block = *run.block;
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  const std::span<const double> sinks = call.forward.options.sinks;
  for (std::int64_t i = 0; i < block.count; ++i) {
    if (sums.counts[i] == C{0}) continue;
    const auto total = [&](Sum sum) { return sums.total[sum * kWidth + i]; };
    const auto at = [&](typename Sums::Place place) { return sums.at_key[place * kWidth + i]; };
    RowTotals row;
    row.mass = total(kMass);
    row.information = total(kInformation);
    row.square = total(kSquare);
    row.largest = static_cast<double>(sums.largest[i]);
    row.distance = total(kDistance);
    row.seen = total(kSeen);
    row.seen_distance = total(kSeenDistance);
    row.first = at(Sums::kFirst);
    row.first_seen = at(Sums::kFirstSeen);
    row.previous = at(Sums::kPrevious);
    row.self = at(Sums::kSelf);
    row.self_seen = at(Sums::kSelfSeen);
    row.next = at(Sums::kNext);
    row.duplicate = at(Sums::kDuplicate);
    row.induction = at(Sums::kInduction);
    for (std::int64_t bin = 0; bin < kDistanceBins; ++bin)
      row.bins[static_cast<std::size_t>(bin)] = static_cast<double>(sums.bins[bin * kWidth + i]);
    const double sink_share =
        sinks.empty() ? 0.0  // with sinks, scores are in natural units
                      : std::exp(sinks[static_cast<std::size_t>(block.head)] - static_cast<double>(run.state.max[i])) /
                            static_cast<double>(run.state.sum[i]);
    const std::int64_t from_first =
        call.position(block.sequence, block.begin + i) - call.padding.first_key(block.batch);
    totals.rows.add_row(row, static_cast<double>(from_first), sink_share);
    if (row.seen == 1) {  // no row of the statistics, so none of a key's either
      const auto key = static_cast<std::size_t>(sums.last_key[i]);
      totals.columns.mass[key] -= row.mass;
      --totals.columns.rows[key];
    }
  }
}

template <class C>
void survey_block(const SurveyCall& call, const QueryBlock& block, void* memory, ChunkTotals& totals) {
  const ForwardCall& forward = call.forward;
  Carver carver(memory);
  const TaskScratch<C> scratch(forward, carver);
  BlockRun<C> run(forward, block, carver);
  const BlockSums<C> sums(carver);
  begin_block(forward, has_score_terms(forward), scratch, run);
  sum_rows(forward, run, scratch);
  begin_sums(call, run, sums, totals);
  for_each_tile_of_scores(forward, run, scratch, {0, forward.shape.key_length}, [&](const TileExtent& tile) HWY_ATTR {
    weigh_tile(call, run, tile, scratch.scores, sums, totals);
  });
  finish_rows(call, run, sums, totals);
}

template <class C>
SurveyKernel survey_kernel_of() {
  return {static_cast<std::int64_t>(tile_width<C>()), &survey_scratch_bytes<C>, &survey_block<C>};
}

SurveyKernel make_survey_kernel(DType dtype) {
#if HWY_HAVE_FLOAT64
  if (dtype == DType::kF64) return survey_kernel_of<double>();
#else  // Highway's WebAssembly has no vectors of f64
  if (dtype == DType::kF64) return {};
#endif
  return survey_kernel_of<float>();
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "src/core/hwy_target.h"

namespace qkv {

HWY_EXPORT(make_survey_kernel);

SurveyKernel survey_kernel(Target target, DType dtype) {
  return dispatched(HWY_DISPATCH_TABLE(make_survey_kernel), target)(dtype);
}

}  // namespace qkv
#endif  // HWY_ONCE
