// Scores, weights and their gradient for one tile of queries and one step of keys: s = q k, dp = do v, p = exp(s −
// lse), ds = p (dp − delta).

#if defined(QKV_SRC_OPS_ATTENTION_GRADIENT_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_GRADIENT_SCORES_INL_H_
#undef QKV_SRC_OPS_ATTENTION_GRADIENT_SCORES_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_GRADIENT_SCORES_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "src/ops/attention/gradient_scratch-inl.h"
#include "src/ops/attention/step-inl.h"
#include "src/ops/attention/tile_terms-inl.h"
#include "src/ops/dot/outer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// exp(score − shift − low). lse in the scores' unit is a shift and the rest that its rounding leaves.
template <ScoreUnit kUnit, class D>
HWY_INLINE hn::Vec<D> weight_of(D d, hn::Vec<D> score, hn::Vec<D> shift, hn::Vec<D> low) {
  return exp_difference<kUnit>(d, hn::Sub(score, shift), low);
}

// What becomes of products while they are still in registers.
enum class Finish : std::uint8_t {
  kNone,
  kWeights,    // exp(s − shift − low), scores in units of 1/log2(e)
  kNatural,    // the same, in natural units
  kGradients,  // p (dp − delta)
};

// out[r][i] = finish(Σ_d rows[r·row_stride + d] · columns[d][i]) for kTileVectors vectors of queries i and as many
// whole tiles of kRows rows as there are in `count`; answers how many rows that was. Shapes: columns [depth][W]; out, p
// [count][QB]; per_query [W] is delta, or the shift with `low` behind it. Aligned to a vector.
template <int kRows, int kTileVectors, Finish kFinish, class C>
HWY_NOINLINE std::int64_t product_tiles(const C* HWY_RESTRICT rows, std::int64_t row_stride, std::int64_t count,
                                        const C* HWY_RESTRICT columns, std::int64_t depth,
                                        const C* HWY_RESTRICT per_query, const C* HWY_RESTRICT p, C* HWY_RESTRICT out,
                                        Ahead* ahead, std::int64_t lines) {
  const Tag<C> d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  std::int64_t done = 0;
  for (; done + kRows <= count; done += kRows) {
    if (ahead != nullptr) ahead->fetch(lines);
    hn::Vec<Tag<C>> sum[kRows][kTileVectors];
    QKV_UNROLL
    for (int r = 0; r < kRows; ++r) {
      QKV_UNROLL
      for (int v = 0; v < kTileVectors; ++v) sum[r][v] = hn::Zero(d);
    }
    const C* HWY_RESTRICT column = columns;
    const C* HWY_RESTRICT row = rows;
    for (std::int64_t k = depth; k > 0; --k) {
      hn::Vec<Tag<C>> query[kTileVectors];
      QKV_UNROLL
      for (int v = 0; v < kTileVectors; ++v) query[v] = hn::Load(d, column + v * kLanes);
      QKV_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const auto key = hn::Set(d, row[r * row_stride]);
        QKV_UNROLL
        for (int v = 0; v < kTileVectors; ++v) sum[r][v] = hn::MulAdd(query[v], key, sum[r][v]);
      }
      column += kWidth;
      ++row;
    }
    QKV_UNROLL
    for (int r = 0; r < kRows; ++r) {
      QKV_UNROLL
      for (int v = 0; v < kTileVectors; ++v) {
        const std::int64_t at = r * block_width<C>() + v * kLanes;
        if constexpr (kFinish == Finish::kWeights || kFinish == Finish::kNatural)
          sum[r][v] = weight_of < kFinish == Finish::kNatural
                          ? ScoreUnit::kNatural
                          : ScoreUnit::kLog2 > (d, sum[r][v], hn::Load(d, per_query + v * kLanes),
                                                hn::Load(d, per_query + kWidth + v * kLanes));
        if constexpr (kFinish == Finish::kGradients)
          sum[r][v] = hn::Mul(hn::Load(d, p + at), hn::Sub(sum[r][v], hn::Load(d, per_query + v * kLanes)));
        hn::Store(sum[r][v], d, out + at);
      }
    }
    rows += kRows * row_stride;
    out += kRows * block_width<C>();
    if constexpr (kFinish == Finish::kGradients) p += kRows * block_width<C>();
  }
  return done;
}

// All `count` rows: whole tiles, then 4, 2 and 1 of them.
template <int kTileVectors, Finish kFinish, class C>
HWY_INLINE void product_rows(const C* rows, std::int64_t row_stride, std::int64_t count, const C* columns,
                             std::int64_t depth, const C* per_query, const C* p, C* out, Ahead* ahead = nullptr,
                             std::int64_t lines = 0) {
  std::int64_t done = 0;
  const auto tiles_of = [&](auto height) HWY_ATTR {
    constexpr int kRows = decltype(height)::value;
    if (done + kRows > count) return;
    const std::int64_t at = done * block_width<C>();
    done +=
        product_tiles<kRows, kTileVectors, kFinish>(rows + done * row_stride, row_stride, count - done, columns, depth,
                                                    per_query, p == nullptr ? p : p + at, out + at, ahead, lines);
  };
  tiles_of(std::integral_constant<int, kTileRows>());
  if constexpr (kTileRows > 4) tiles_of(std::integral_constant<int, 4>());
  tiles_of(std::integral_constant<int, 2>());
  tiles_of(std::integral_constant<int, 1>());
}

// One step of one tile of queries: rows [begin, end) of it are computed; positions count from the step's first key.
template <class C>
struct StepSight {
  std::int64_t begin = 0, end = 0;              // empty: the tile sees nothing here
  std::int64_t plain_begin = 0, plain_end = 0;  // rows that every query sees
  bool by_tensor = false;                       // what the others see is in `allowed`, else in first and last
  HWY_ALIGN C first[kMaxTileWidth];             // keys that positions allow each query: [first, last)
  HWY_ALIGN C last[kMaxTileWidth];

  bool is_empty() const { return begin >= end; }
  bool is_plain(std::int64_t count) const { return plain_begin == 0 && plain_end == count; }
  Sight<C> sight(const C* allowed) const { return {first, last, by_tensor ? allowed : nullptr}; }
};

// Which of keys [key, key + count) the tile sees.
template <class C>
HWY_NOINLINE void look_at_step(const ForwardCall& call, const QueryTile<C>& tile, std::int64_t key, std::int64_t count,
                               C* allowed, C* bias, StepSight<C>& step) {
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  const auto within = [&](std::int64_t at) { return std::clamp<std::int64_t>(at - key, 0, count); };
  const BlockRanges& ranges = tile.ranges;
  step.begin = within(ranges.all.begin);
  step.end = within(ranges.all.end);
  if (step.is_empty()) return;
  step.by_tensor = call.keep.is_present() || call.bias.is_present() || call.options.key_mask.is_present();
  Visibility visibility = Visibility::kSome;
  const TileExtent extent{key + step.begin, step.end - step.begin, kWidth};
  const std::int64_t skipped = step.begin * kWidth;
  if (step.by_tensor)
    visibility =
        fill_terms(call, tile.block, ranges, extent, allowed + skipped, bias == nullptr ? bias : bias + skipped);
  if (visibility == Visibility::kNone) step.end = step.begin;
  step.plain_begin = step.plain_end = step.end;
  if (visibility == Visibility::kAll) {
    step.plain_begin = step.begin;
  } else if (!step.by_tensor) {
    step.plain_begin = std::clamp(within(ranges.common.begin), step.begin, step.end);
    step.plain_end = std::clamp(within(ranges.common.end), step.plain_begin, step.end);
  }
  if (step.plain_begin == step.begin && step.plain_end == step.end) return;
  for (std::int64_t i = 0; i < kWidth; ++i) {
    step.first[i] = static_cast<C>(within(ranges.begin[i]));
    step.last[i] = static_cast<C>(within(ranges.end[i]));
  }
}

// Products of rows [begin, end) of a step, for the vectors of queries that see any of them.
// Shapes: rows from the step's first key on; columns [depth][W]; out [keys][QB].
template <class C>
HWY_NOINLINE void raw_products(const QueryTile<C>& tile, const Rows<C>& rows, std::int64_t key, std::int64_t begin,
                               std::int64_t end, const C* columns, std::int64_t depth, C* out) {
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  if (begin >= end) return;
  std::int64_t first_row[kVectors];
  std::int64_t last_row[kVectors];
  for (int v = 0; v < tile.vectors; ++v) {
    first_row[v] = std::clamp(tile.ranges.begin[v * kLanes] - key, begin, end);
    last_row[v] = std::clamp(tile.ranges.end[(v + 1) * kLanes - 1] - key, begin, end);
  }
  const Segments segments(first_row, last_row, tile.vectors);
  for (int s = 0; s < segments.count; ++s) {
    const Segment& segment = segments.at[s];
    const std::int64_t lane = segment.first * kLanes;
    with_vectors(segment.last - segment.first, [&](auto vectors) HWY_ATTR {
      product_rows<decltype(vectors)::value, Finish::kNone, C>(
          rows.data + segment.begin * rows.stride, rows.stride, segment.end - segment.begin, columns + lane, depth,
          nullptr, nullptr, out + segment.begin * block_width<C>() + lane);
    });
  }
}

// What is left of the scale, softcap, bias and slopes, in this order, on rows [begin, end) of scores in natural units.
// `bend` (or null) takes the softcap's derivative 1 − tanh².
template <class C>
HWY_NOINLINE void apply_gradient_terms(const ForwardCall& call, const QueryTile<C>& tile, std::int64_t key,
                                       std::int64_t begin, std::int64_t end, const C* HWY_RESTRICT bias,
                                       C* HWY_RESTRICT scores, C* HWY_RESTRICT bend) {
  const Tag<C> d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  const AttentionOptions& options = call.options;
  const auto cap = hn::Set(d, static_cast<C>(options.softcap.value_or(1)));
  const bool sloped = !options.slopes.empty();
  const auto slope =
      hn::Set(d, sloped ? static_cast<C>(options.slopes[static_cast<std::size_t>(tile.block.head)]) : C{0});
  HWY_ALIGN C position[kMaxTileWidth];  // of each query, counted from the step's first key
  for (std::int64_t i = 0; i < kWidth; ++i)
    position[i] = static_cast<C>(Positions::position(tile.block.sequence, tile.block.begin + i) - key);
  for (std::int64_t j = begin; j < end; ++j)
    for (std::int64_t lane = 0; lane < tile.vectors * kLanes; lane += kLanes) {
      const std::int64_t at = j * block_width<C>() + lane;
      auto s = hn::Load(d, scores + at);
      if (tile.has_post) s = hn::Mul(hn::Mul(s, hn::Load(d, tile.post + lane)), hn::Load(d, tile.post + kWidth + lane));
      if (options.softcap) {
        const auto bent = tanh_lanes(d, hn::Div(s, cap));
        s = hn::Mul(cap, bent);
        if (bend != nullptr) hn::Store(hn::NegMulAdd(bent, bent, hn::Set(d, C{1})), d, bend + at);
      }
      if (call.bias.is_present()) s = hn::Add(s, hn::Load(d, bias + j * kWidth + lane));
      if (sloped) {
        const auto distance = hn::Abs(hn::Sub(hn::Load(d, position + lane), hn::Set(d, static_cast<C>(j))));
        s = hn::NegMulAdd(slope, distance, s);
      }
      hn::Store(s, d, scores + at);
    }
}

// Rows [begin, end) of scores become weights, and those of dp the gradient of the scores. With a `sight` what it hides
// is 0 in both, whatever it was. `bend` (or null) multiplies the gradient at last. `allowed` (or null) is filled with 1
// where a weight counts and 0 where not: there, a score of −inf is as good as hidden.
template <ScoreUnit kUnit, class C>
HWY_NOINLINE void weigh_gradient(const QueryTile<C>& tile, std::int64_t begin, std::int64_t end, const Sight<C>* sight,
                                 const C* HWY_RESTRICT bend, C* HWY_RESTRICT p, C* HWY_RESTRICT ds, C* allowed) {
  const Tag<C> d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  const auto lowest = hn::Set(d, -std::numeric_limits<C>::infinity());
  for (std::int64_t lane = 0; lane < tile.vectors * kLanes; lane += kLanes) {
    const auto shift = hn::Load(d, tile.shift + lane);
    const auto low = hn::Load(d, tile.low + lane);
    const auto share = hn::Load(d, tile.share + lane);
    const auto delta = hn::Load(d, tile.delta + lane);
    for (std::int64_t j = begin; j < end; ++j) {
      const std::int64_t at = j * block_width<C>() + lane;
      const auto score = hn::Load(d, p + at);
      auto weight = weight_of<kUnit>(d, score, shift, low);
      if (tile.has_share) weight = hn::Mul(weight, share);
      // Added last: where delta takes dp away, what comes from lse is not rounded.
      auto gradient = hn::Sub(hn::Load(d, ds + at), delta);
      if (tile.has_lse_gradient) gradient = hn::Add(gradient, hn::Load(d, tile.of_lse + lane));
      gradient = hn::Mul(weight, gradient);
      if (bend != nullptr) gradient = hn::Mul(gradient, hn::Load(d, bend + at));
      if (sight != nullptr) {
        auto seen = sight->at(j, static_cast<std::size_t>(lane));
        if (allowed != nullptr) {
          seen = hn::And(seen, hn::Ne(score, lowest));
          hn::Store(hn::IfThenElseZero(seen, hn::Set(d, C{1})), d, allowed + j * kWidth + lane);
        }
        weight = hn::IfThenElseZero(seen, weight);
        gradient = hn::IfThenElseZero(seen, gradient);
      }
      hn::Store(weight, d, p + at);
      hn::Store(gradient, d, ds + at);
    }
  }
}

// What a step computes with, for one tile: the keys and values from its first key on, and where results go.
template <class C>
struct StepArrays {
  Rows<C> keys, values;
  C *p, *ds, *bend;    // [keys][QB], from the tile's first lane on; bend is null where nobody asks for it
  C* allowed;          // [keys][W]
  C* bias;             // [keys][W]
  Ahead* ahead;        // or null
  std::int64_t lines;  // that each register tile asks for
};

// p and ds of rows [step.begin, step.end), 0 where hidden. `selecting`: something that is multiplied with them is not
// finite, so `allowed` is wanted too.
template <class C>
HWY_NOINLINE void step_gradient(const ForwardCall& call, const QueryTile<C>& tile, std::int64_t key, std::int64_t count,
                                bool selecting, const StepArrays<C>& at, StepSight<C>& step) {
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  look_at_step(call, tile, key, count, at.allowed, at.bias, step);
  if (step.is_empty()) return;
  const AttentionOptions& options = call.options;
  const bool has_terms = tile.has_post || options.softcap || call.bias.is_present() || !options.slopes.empty();
  const bool fused = !has_terms && !tile.has_share && !tile.has_lse_gradient && !selecting && tile.vectors == kVectors;
  // Rows in front of, inside and behind the part that takes the short path, which begins and ends with register tiles.
  std::int64_t from = step.end, to = step.end;
  if (fused) {
    const std::int64_t first = (step.plain_begin + kTileRows - 1) / kTileRows * kTileRows;
    const std::int64_t last = step.plain_end / kTileRows * kTileRows;
    from = step.plain_begin == step.begin ? step.begin : std::min(first, step.end);
    to = std::max(step.plain_end == step.end ? step.end : last, from);
  }
  const AttentionShape& shape = call.shape;
  if (from < to) {
    const std::int64_t offset = from * block_width<C>();
    const C* keys = at.keys.data + from * at.keys.stride;
    C* const no_p = nullptr;
    if (tile.unit == ScoreUnit::kLog2)
      product_rows<kVectors, Finish::kWeights, C>(keys, at.keys.stride, to - from, tile.qt, shape.width, tile.shift,
                                                  no_p, at.p + offset, at.ahead, at.lines);
    else
      product_rows<kVectors, Finish::kNatural, C>(keys, at.keys.stride, to - from, tile.qt, shape.width, tile.shift,
                                                  no_p, at.p + offset, at.ahead, at.lines);
    product_rows<kVectors, Finish::kGradients, C>(at.values.data + from * at.values.stride, at.values.stride, to - from,
                                                  tile.dot, shape.value_width, tile.delta, at.p + offset,
                                                  at.ds + offset, at.ahead, at.lines);
  }
  const auto others = [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    if (begin >= end) return;
    raw_products(tile, at.keys, key, begin, end, tile.qt, shape.width, at.p);
    raw_products(tile, at.values, key, begin, end, tile.dot, shape.value_width, at.ds);
    if (has_terms) apply_gradient_terms(call, tile, key, begin, end, at.bias, at.p, at.bend);
    const Sight<C> sight = step.sight(at.allowed);
    const bool plain = step.plain_begin <= begin && end <= step.plain_end;
    if (plain && selecting) std::fill(at.allowed + begin * kWidth, at.allowed + end * kWidth, C{1});
    const Sight<C> everything{nullptr, nullptr, at.allowed};
    const Sight<C>* looked = plain ? (selecting ? &everything : nullptr) : &sight;
    C* allowed = selecting ? at.allowed : nullptr;
    if (tile.unit == ScoreUnit::kLog2)
      weigh_gradient<ScoreUnit::kLog2>(tile, begin, end, looked, at.bend, at.p, at.ds, allowed);
    else
      weigh_gradient<ScoreUnit::kNatural>(tile, begin, end, looked, at.bend, at.p, at.ds, allowed);
  };
  others(step.begin, from);
  others(to, step.end);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
