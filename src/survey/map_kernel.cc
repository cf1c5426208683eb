// One block of queries of a map: compiled once per SIMD target, dispatched at the end of the file.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "src/survey/map_call.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/survey/map_kernel.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/survey/pool-inl.h"
#include "src/survey/scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {

// Steps that a row of keys may take: panels may end inside one.
inline std::int64_t most_steps(const AttentionShape& shape, const PixelAxis& columns) {
  const std::int64_t keys = std::min(shape.key_length, columns.end - columns.begin);
  return keys / kKeysPerStep + keys / panel_keys(shape) + 4;
}

template <class C>
std::size_t map_scratch_bytes(const ForwardCall& call, const PixelAxis& columns) {
  Carver carver(nullptr);
  const TaskScratch<C> scratch(call, carver);
  const BlockState<C> state(call.shape, carver);
  const Pools<C> pools(columns.pixels(), most_steps(call.shape, columns), carver);
  return carver.used();
}

// The factor of every step's weights where the whole row was seen: exp(shift of the step − largest) / sum. A row that
// sees nothing has 0, one that is not finite NaN.
template <ScoreUnit kUnit, class C>
HWY_NOINLINE void find_factors(const BlockRun<C>& run, std::int64_t steps, double sink, const RowResults& results,
                               const Pools<C>& pools) {
  const Tag<C> d;
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  constexpr double kLn2 = 0.69314718055994530942;
  constexpr double kUnitInNats = kUnit == ScoreUnit::kLog2 ? kLn2 : 1.0;
  const auto hidden = hn::Set(d, -std::numeric_limits<C>::infinity());
  for (std::int64_t lane = 0; lane < kWidth; lane += static_cast<std::int64_t>(hn::MaxLanes(d))) {
    const auto largest = hn::Load(d, run.state.max + lane);
    for (std::int64_t s = 0; s < steps; ++s) {
      const auto shift = hn::Load(d, pools.shift + s * kWidth + lane);
      const auto factor =
          hn::IfThenElse(hn::Eq(shift, largest), hn::Set(d, C{1}), exp_difference<kUnit>(d, shift, largest));
      hn::Store(hn::IfThenZeroElse(hn::Eq(shift, hidden), factor), d, pools.factor + s * kWidth + lane);
    }
  }
  for (std::int64_t i = 0; i < run.block->count; ++i) {
    const auto largest = static_cast<double>(run.state.max[i]);
    double sum = sink == -std::numeric_limits<double>::infinity() ? 0 : std::exp(sink - largest);
    for (std::int64_t s = 0; s < steps; ++s)
      sum += static_cast<double>(pools.of_step[s * kWidth + i]) * static_cast<double>(pools.factor[s * kWidth + i]);
    double negative_entropy = 0;
    const double log_sum = std::log(sum);
    for (std::int64_t s = 0; s < steps; ++s) {
      C& factor = pools.factor[s * kWidth + i];
      const double share = sum > 0 || std::isnan(sum) ? static_cast<double>(factor) / sum : 0;
      factor = static_cast<C>(share);
      if (share == 0) continue;
      const double log_share = (static_cast<double>(pools.shift[s * kWidth + i]) - largest) * kUnitInNats - log_sum;
      negative_entropy += share * (kUnitInNats * static_cast<double>(pools.information[s * kWidth + i]) +
                                   log_share * static_cast<double>(pools.of_step[s * kWidth + i]));
    }
    const std::int64_t row = run.block->begin + i;
    results.lse[row] = sum == 0 ? -std::numeric_limits<double>::infinity() : largest * kUnitInNats + log_sum;
    results.entropy[row] = -negative_entropy;
    results.largest[row] = 0;
  }
}

// The larger of two, or NaN if the second is.
template <class C>
HWY_INLINE C larger(C a, C b) {
  return b <= a ? a : b;
}

// The pools of a block's rows, brought to weights, into the pixels that they belong to.
template <class C>
HWY_NOINLINE void add_to_picture(const QueryBlock& block, const Picture& picture, double* largest,
                                 const Pools<C>& pools) {
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  HWY_ALIGN C top[kMaxTileWidth] = {};
  const std::int64_t pixels = picture.columns.pixels();
  for (std::int64_t c = 0; c < pixels; ++c) {
    if (pools.step_of[c] < 0) continue;
    const C* HWY_RESTRICT factor = pools.factor + pools.step_of[c] * kWidth;
    C* HWY_RESTRICT peaks = pools.max + c * kWidth;
    C* HWY_RESTRICT sums = pools.sum + c * kWidth;
    for (std::int64_t i = 0; i < kWidth; ++i) {
      peaks[i] *= factor[i];
      sums[i] *= factor[i];
      top[i] = larger(top[i], peaks[i]);
    }
    for (std::int64_t i = 0; i < block.count;) {  // the queries of one pixel row after the other
      const std::int64_t row = picture.rows.pixel_of(block.begin + i);
      const std::int64_t end = std::min(block.count, picture.rows.end_of(row) - block.begin);
      C peak = 0, sum = 0;
      for (; i < end; ++i) {
        peak = larger(peak, peaks[i]);
        sum += sums[i];
      }
      float& max = picture.max[row * picture.stride + c];
      max = larger(max, static_cast<float>(peak));
      picture.mean[row * picture.stride + c] += static_cast<float>(sum);
    }
  }
  if (largest != nullptr)
    for (std::int64_t i = 0; i < block.count; ++i) largest[block.begin + i] = static_cast<double>(top[i]);
}

// Where the weights of each query are measured from if its lse is known.
template <class C>
void take_lse(const BlockRun<C>& run, const double* lse, const Pools<C>& pools) {
  constexpr double kLog2e = 1.4426950408889634;
  const double unit = run.unit == ScoreUnit::kLog2 ? kLog2e : 1.0;
  const auto count = static_cast<std::size_t>(run.block->count);
  for (std::size_t i = 0; i < tile_width<C>(); ++i) {
    const double shift = i < count ? lse[run.block->begin + static_cast<std::int64_t>(i)] * unit : 0;
    const C rounded = static_cast<C>(shift);
    const double left = shift - static_cast<double>(rounded);
    pools.shift[i] = rounded;
    pools.low[i] = std::isfinite(left) ? static_cast<C>(left) : C{0};
    pools.factor[i] = C{1};
  }
}

template <class C>
HWY_INLINE void pool(const PixelAxis& columns, const TileExtent& tile, std::int64_t step, int vectors, ScoreUnit unit,
                     bool is_given, const C* scores, const Pools<C>& pools) {
  constexpr ScoreUnit kLog2 = ScoreUnit::kLog2, kNatural = ScoreUnit::kNatural;
  if (unit == kLog2 && is_given)
    pool_tile<kLog2, true>(columns, tile.key, tile.count, step, vectors, scores, pools);
  else if (unit == kLog2)
    pool_tile<kLog2, false>(columns, tile.key, tile.count, step, vectors, scores, pools);
  else if (is_given)
    pool_tile<kNatural, true>(columns, tile.key, tile.count, step, vectors, scores, pools);
  else
    pool_tile<kNatural, false>(columns, tile.key, tile.count, step, vectors, scores, pools);
}

template <class C>
void map_block(const ForwardCall& call, const QueryBlock& block, const double* lse, const Picture& picture,
               const RowResults& results, void* memory) {
  constexpr std::size_t kWidth = tile_width<C>();
  const std::int64_t pixels = picture.columns.pixels();
  Carver carver(memory);
  const TaskScratch<C> scratch(call, carver);
  BlockRun<C> run(call, block, carver);
  const Pools<C> pools(pixels, most_steps(call.shape, picture.columns), carver);
  begin_block(call, has_score_terms(call), scratch, run);
  std::fill_n(pools.sum, static_cast<std::size_t>(pixels) * kWidth, C{0});
  std::fill_n(pools.max, static_cast<std::size_t>(pixels) * kWidth, C{0});
  std::fill_n(pools.step_of, pixels, -1);
  std::fill_n(pools.low, kWidth, C{0});
  if (lse != nullptr) take_lse(run, lse, pools);

  const int vectors = vectors_for<C>(block.count);
  std::int64_t steps = 0;
  for_each_tile_of_scores(
      call, run, scratch, {picture.columns.begin, picture.columns.end}, [&](const TileExtent& tile) HWY_ATTR {
        if (lse == nullptr) {
          std::copy_n(scratch.block_max, kWidth, pools.shift + static_cast<std::size_t>(steps) * kWidth);
          std::copy_n(scratch.block_max, kWidth, run.state.max);
        }
        const std::int64_t step = lse == nullptr ? steps++ : 0;
        pool(picture.columns, tile, step, vectors, run.unit, lse != nullptr, scratch.scores, pools);
      });
  if (lse == nullptr) {
    const std::span<const double> sinks = call.options.sinks;
    const double sink = sinks.empty() ? -std::numeric_limits<double>::infinity() : sinks[0];
    if (run.unit == ScoreUnit::kLog2)
      find_factors<ScoreUnit::kLog2>(run, steps, sink, results, pools);
    else
      find_factors<ScoreUnit::kNatural>(run, steps, sink, results, pools);
  }
  add_to_picture(block, picture, results.largest, pools);
}

template <class C>
MapKernel map_kernel_of() {
  return {static_cast<std::int64_t>(tile_width<C>()), &map_scratch_bytes<C>, &map_block<C>};
}

MapKernel make_map_kernel(DType dtype) {
#if HWY_HAVE_FLOAT64
  if (dtype == DType::kF64) return map_kernel_of<double>();
#else  // Highway's WebAssembly has no vectors of f64
  if (dtype == DType::kF64) return {};
#endif
  return map_kernel_of<float>();
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "src/core/hwy_target.h"

namespace qkv {

HWY_EXPORT(make_map_kernel);

MapKernel map_kernel(Target target, DType dtype) {
  return dispatched(HWY_DISPATCH_TABLE(make_map_kernel), target)(dtype);
}

}  // namespace qkv
#endif  // HWY_ONCE
