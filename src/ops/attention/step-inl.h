// One step of a block: scores of a tile, what masks and biases do to them, their weights, and the weighted values.

#if defined(QKV_SRC_OPS_ATTENTION_STEP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_STEP_INL_H_
#undef QKV_SRC_OPS_ATTENTION_STEP_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_STEP_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "src/ops/attention/ahead-inl.h"
#include "src/ops/attention/forward.h"
#include "src/ops/attention/scratch-inl.h"
#include "src/ops/attention/tile_terms.h"
#include "src/ops/dot/dot-inl.h"
#include "src/ops/softmax/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Which keys of a tile each query may see, in registers: by its range of positions, or by what fill_terms() wrote.
template <class C>
struct Sight {
  const C* begin;    // [W] first and one past the last key by position, counted from the tile's first
  const C* end;      // [W]
  const C* allowed;  // [keys][W], or null where positions are all there is

  HWY_INLINE hn::Mask<Tag<C>> at(std::int64_t key, std::size_t lane) const {
    const Tag<C> d;
    if (allowed != nullptr)
      return hn::Ne(hn::Load(d, allowed + static_cast<std::size_t>(key) * tile_width<C>() + lane), hn::Zero(d));
    const auto j = hn::Set(d, static_cast<C>(key));
    return hn::And(hn::Ge(j, hn::Load(d, begin + lane)), hn::Lt(j, hn::Load(d, end + lane)));
  }
};

// Rows [begin, end) of a tile for which the vectors [first, last) of queries see anything.
struct Segment {
  std::int64_t begin, end;
  int first, last;
};

// A tile cut into segments: along a diagonal, whole vectors of queries see nothing yet, or nothing any more.
struct Segments {
  Segment at[2 * kVectors];
  int count = 0;

  // `begin`, `end`: rows that each vector of queries needs; neither decreases from one vector to the next.
  Segments(const std::int64_t* begin, const std::int64_t* end, int vectors) {
    std::int64_t row = begin[0];
    while (row < end[vectors - 1]) {
      int first = 0;
      while (end[first] <= row) ++first;
      int last = vectors;
      while (last > first && begin[last - 1] > row) --last;
      std::int64_t next = last < vectors ? begin[last] : end[vectors - 1];
      if (first < last) {
        next = std::min(next, end[first]);
        at[count++] = {row, next, first, last};
      }
      row = next;
    }
  }
};

// The keys and values of a tile as bf16 pairs; `keys` is null where the tile is not computed by pairs.
struct PairTile {
  const Pair* keys = nullptr;  // row-major, stride in pairs
  std::int64_t key_stride = 0;
  const Pair* values = nullptr;  // [keys / 2][Dv]
  std::int64_t value_width = 0;
  float factor = 1;  // what is left of the scale

  float value(std::int64_t key, std::int64_t column) const {
    const Pair both = values[key / 2 * value_width + column];
    return to_float(bf16{static_cast<std::uint16_t>(key % 2 == 0 ? both : both >> 16)});
  }
};

// One tile of a block, and how to look at it.
template <class C>
struct Tile {
  TileExtent extent;
  Rows<C> keys, values;  // unless by pairs
  PairTile pairs;
  Sight<C> sight;
  const Segments* segments;
  std::int64_t plain_begin, plain_end;  // rows that every query sees and that nothing is added to
  Ahead* ahead;                         // what is wanted after this tile
  std::int64_t ahead_lines;             // of it for each register tile to ask for
};

// scores of rows [begin, end) of a segment; `max` as dot_tile's.
template <class C>
HWY_INLINE void score_rows(const Tile<C>& tile, const Segment& segment, std::int64_t begin, std::int64_t end,
                           const BlockState<C>& state, std::int64_t width, C* HWY_RESTRICT scores, C* max) {
  const std::size_t lane = static_cast<std::size_t>(segment.first) * hn::MaxLanes(Tag<C>());
  with_vectors(segment.last - segment.first, [&](auto vectors) HWY_ATTR {
    for_each_tile(end - begin, [&](auto rows, std::int64_t first) HWY_ATTR {
      const std::int64_t row = begin + first;
      tile.ahead->fetch(tile.ahead_lines);
#if HWY_TARGET == HWY_AVX3
      if constexpr (sizeof(C) == 4) {
        if (tile.pairs.keys != nullptr)
          return dot_tile_pairs<decltype(rows)::value, decltype(vectors)::value>(
              tile.pairs.keys + row * tile.pairs.key_stride, tile.pairs.key_stride,
              reinterpret_cast<const Pair*>(state.qt) + lane, width / 2, tile.pairs.factor,
              scores + static_cast<std::size_t>(row) * tile_width<C>() + lane, max == nullptr ? nullptr : max + lane);
      }
#endif
      dot_tile<decltype(rows)::value, decltype(vectors)::value>(
          tile.keys.data + row * tile.keys.stride, tile.keys.stride, state.qt + lane, width,
          scores + static_cast<std::size_t>(row) * tile_width<C>() + lane, max == nullptr ? nullptr : max + lane);
    });
  });
}

// What is left of the scale, softcap, bias and slopes, in this order, on scores in natural units.
template <class C>
HWY_NOINLINE void apply_terms(const ForwardCall& call, const QueryBlock& block, const TileExtent& tile, const C* post,
                              int vectors, const C* HWY_RESTRICT bias, C* HWY_RESTRICT scores) {
  const Tag<C> d;
  constexpr std::size_t kLanes = hn::MaxLanes(Tag<C>());
  const AttentionOptions& options = call.options;
  const auto cap = static_cast<C>(options.softcap.value_or(1));
  const bool sloped = !options.slopes.empty();
  const auto slope = hn::Set(d, sloped ? static_cast<C>(options.slopes[static_cast<std::size_t>(block.head)]) : C{0});
  HWY_ALIGN C position[kMaxTileWidth];  // of each query, counted from the tile's first key
  for (std::size_t i = 0; i < tile_width<C>(); ++i)
    position[i] =
        static_cast<C>(Positions::position(block.sequence, block.begin + static_cast<std::int64_t>(i)) - tile.key);
  for (std::int64_t j = 0; j < tile.count; ++j) {
    const std::size_t row = static_cast<std::size_t>(j) * tile_width<C>();
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(vectors) * kLanes; lane += kLanes) {
      auto s = hn::Load(d, scores + row + lane);
      if (post != nullptr)
        s = hn::Mul(hn::Mul(s, hn::Load(d, post + lane)), hn::Load(d, post + tile_width<C>() + lane));
      if (options.softcap) s = hn::Mul(hn::Set(d, cap), tanh_lanes(d, hn::Div(s, hn::Set(d, cap))));
      if (call.bias.is_present()) s = hn::Add(s, hn::Load(d, bias + row + lane));
      if (sloped) {
        const auto distance = hn::Abs(hn::Sub(hn::Load(d, position + lane), hn::Set(d, static_cast<C>(j))));
        s = hn::NegMulAdd(slope, distance, s);
      }
      hn::Store(s, d, scores + row + lane);
    }
  }
}

// Scores of rows [begin, end) that a query may not see become -inf; the others join the maximum.
template <class C>
HWY_NOINLINE void hide_rows(const Sight<C>& sight, std::int64_t begin, std::int64_t end, int vectors,
                            C* HWY_RESTRICT scores, C* HWY_RESTRICT max) {
  const Tag<C> d;
  constexpr std::size_t kLanes = hn::MaxLanes(Tag<C>());
  const auto hidden = hn::Set(d, -std::numeric_limits<C>::infinity());
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(vectors) * kLanes; lane += kLanes) {
    auto largest = hn::Load(d, max + lane);
    for (std::int64_t j = begin; j < end; ++j) {
      C* at = scores + static_cast<std::size_t>(j) * tile_width<C>() + lane;
      const auto score = hn::IfThenElse(sight.at(j, lane), hn::Load(d, at), hidden);
      hn::Store(score, d, at);
      largest = hn::Max(largest, score);
    }
    hn::Store(largest, d, max + lane);
  }
}

template <class C>
HWY_NOINLINE bool all_finite(const Rows<C>& rows, std::int64_t begin, std::int64_t end, std::int64_t width) {
  const Tag<C> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto largest = hn::Set(d, std::numeric_limits<C>::max());
  auto wrong = hn::Lt(largest, hn::Zero(d));  // none
  bool finite = true;
  for (std::int64_t j = begin; j < end; ++j) {
    const C* row = rows.data + j * rows.stride;
    std::int64_t c = 0;
    for (; c + lanes <= width; c += lanes)  // NaN is not <= anything
      wrong = hn::Or(wrong, hn::Not(hn::Le(hn::Abs(hn::LoadU(d, row + c)), largest)));
    for (; c < width; ++c) finite &= std::fabs(row[c]) <= std::numeric_limits<C>::max();
  }
  return finite && hn::AllFalse(d, wrong);
}

// The same of a tile's values, whatever their form; rows of pairs are looked at two by two.
template <class C>
HWY_INLINE bool values_finite(const Tile<C>& tile, std::int64_t begin, std::int64_t end, std::int64_t width) {
  if (tile.pairs.keys == nullptr) return all_finite(tile.values, begin, end, width);
  bool finite = true;
  constexpr Pair kExponent = 0x7F80;
  for (std::int64_t at = begin / 2 * width; at < (end + 1) / 2 * width; ++at) {
    const Pair both = tile.pairs.values[at];
    finite &= (both & kExponent) != kExponent && (both >> 16 & kExponent) != kExponent;
  }
  return finite;
}

// acc += weights · values where a hidden value is not even multiplied by 0: 0 · NaN would be NaN.
template <class C>
HWY_NOINLINE void accumulate_selected(const Tile<C>& tile, std::int64_t value_width, int vectors,
                                      const C* HWY_RESTRICT weights, C* HWY_RESTRICT acc) {
  const Tag<C> d;
  constexpr std::size_t kWidth = tile_width<C>();
  for (std::int64_t c = 0; c < value_width; ++c)
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(vectors) * hn::MaxLanes(d); lane += hn::MaxLanes(d)) {
      C* at = acc + static_cast<std::size_t>(c) * kWidth + lane;
      auto sum = hn::Load(d, at);
      for (std::int64_t j = 0; j < tile.extent.count; ++j) {
        const auto weight = hn::Load(d, weights + static_cast<std::size_t>(j) * kWidth + lane);
        const auto value = hn::Set(d, tile.pairs.keys == nullptr ? tile.values.data[j * tile.values.stride + c]
                                                                 : static_cast<C>(tile.pairs.value(j, c)));
        const bool plain = tile.plain_begin <= j && j < tile.plain_end;
        const auto added = hn::MulAdd(weight, value, sum);
        sum = plain ? added : hn::IfThenElse(tile.sight.at(j, lane), added, sum);
      }
      hn::Store(sum, d, at);
    }
}

template <class C>
HWY_INLINE void accumulate_values(const Tile<C>& tile, std::int64_t value_width, const C* HWY_RESTRICT weights,
                                  C* HWY_RESTRICT acc) {
  constexpr std::size_t kWidth = tile_width<C>();
  for_each_tile(value_width, [&](auto rows, std::int64_t column) HWY_ATTR {
    for (int s = 0; s < tile.segments->count; ++s) {
      const Segment& segment = tile.segments->at[s];
      const std::size_t lane = static_cast<std::size_t>(segment.first) * hn::MaxLanes(Tag<C>());
      tile.ahead->fetch(tile.ahead_lines);
      with_vectors(segment.last - segment.first, [&](auto vectors) HWY_ATTR {
#if HWY_TARGET == HWY_AVX3
        if constexpr (sizeof(C) == 4) {
          if (tile.pairs.keys != nullptr)  // segments begin at whole register tiles, so at whole pairs
            return accumulate_tile_pairs<decltype(rows)::value, decltype(vectors)::value>(
                tile.pairs.values + segment.begin / 2 * value_width + column, value_width,
                reinterpret_cast<const Pair*>(weights) + static_cast<std::size_t>(segment.begin / 2) * kWidth + lane,
                (segment.end - segment.begin + 1) / 2, acc + static_cast<std::size_t>(column) * kWidth + lane);
        }
#endif
        accumulate_tile<decltype(rows)::value, decltype(vectors)::value>(
            tile.values.data + segment.begin * tile.values.stride + column, tile.values.stride,
            weights + static_cast<std::size_t>(segment.begin) * kWidth + lane, segment.end - segment.begin,
            acc + static_cast<std::size_t>(column) * kWidth + lane);
      });
    }
  });
}

// scratch.scores [count][W]: scores of a tile with their terms, −inf where hidden; scratch.block_max the larger of each
// query's maximum so far and these. `post` is null unless the queries were packed within range; has_terms: something is
// added to scores or caps them.
template <class C>
HWY_INLINE void score_tile(const ForwardCall& call, const QueryBlock& block, const Tile<C>& tile, const C* post,
                           bool has_terms, const TaskScratch<C>& scratch, const BlockState<C>& state) {
  const int vectors = vectors_for<C>(block.count);
  std::copy_n(state.max, tile_width<C>(), scratch.block_max);
  C* const no_max = nullptr;
  for (int s = 0; s < tile.segments->count; ++s) {
    const Segment& segment = tile.segments->at[s];
    const std::int64_t begin = std::clamp(tile.plain_begin, segment.begin, segment.end);
    const std::int64_t end = std::clamp(tile.plain_end, begin, segment.end);
    score_rows(tile, segment, segment.begin, begin, state, call.shape.width, scratch.scores, no_max);
    score_rows(tile, segment, begin, end, state, call.shape.width, scratch.scores, scratch.block_max);
    score_rows(tile, segment, end, segment.end, state, call.shape.width, scratch.scores, no_max);
  }
  if (has_terms || post != nullptr) apply_terms(call, block, tile.extent, post, vectors, scratch.bias, scratch.scores);
  hide_rows(tile.sight, 0, tile.plain_begin, vectors, scratch.scores, scratch.block_max);
  hide_rows(tile.sight, tile.plain_end, tile.extent.count, vectors, scratch.scores, scratch.block_max);
}

// Scores of a tile, their weights, and the weighted values added to the state. Arguments as score_tile's.
template <ScoreUnit kUnit, class C>
HWY_INLINE void step(const ForwardCall& call, const QueryBlock& block, const Tile<C>& tile, const C* post,
                     bool has_terms, const TaskScratch<C>& scratch, const BlockState<C>& state) {
  const int vectors = vectors_for<C>(block.count);
  const std::int64_t count = tile.extent.count;
  score_tile(call, block, tile, post, has_terms, scratch, state);
  weigh<kUnit>(state.softmax(call.shape.value_width), scratch.scores, scratch.block_max, count, vectors);
  const std::int64_t value_width = call.shape.value_width;
  // The last pair of an odd tile holds a key that is not the tile's.
  const std::int64_t odd = tile.pairs.keys != nullptr && count % 2 != 0 ? count - 1 : count;
  if (!values_finite(tile, 0, tile.plain_begin, value_width) ||
      !values_finite(tile, std::min(tile.plain_end, odd), count, value_width))
    return accumulate_selected(tile, value_width, vectors, scratch.scores, state.acc);
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(C) == 4) {
    if (tile.pairs.keys != nullptr) pair_weights(count, vectors, scratch.scores);
  }
#endif
  accumulate_values(tile, value_width, scratch.scores, state.acc);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
