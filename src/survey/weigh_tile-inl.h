// The weights of one tile, and what they add to the totals of its queries and keys: queries in lanes.

#if defined(QKV_SRC_SURVEY_WEIGH_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_SURVEY_WEIGH_TILE_INL_H_
#undef QKV_SRC_SURVEY_WEIGH_TILE_INL_H_
#else
#define QKV_SRC_SURVEY_WEIGH_TILE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "src/ops/attention/scratch-inl.h"
#include "src/ops/attention/tile_terms.h"
#include "src/ops/dot/dot-inl.h"
#include "src/ops/softmax/softmax-inl.h"
#include "src/survey/head_totals.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// What is summed over the keys of a tile, for every query.
enum Sum : std::uint8_t { kMass, kInformation, kSquare, kDistance, kSeen, kSeenDistance, kSums };

// The queries of a block: what their weights are measured from, and their sums so far.
template <class C>
struct BlockSums {
  static constexpr std::size_t kWidth = tile_width<C>();

  C* shift;                   // [W]  largest score: exp(score − shift − low) is the weight
  C* low;                     // [W]  logarithm of the sum beside that
  C* counts;                  // [W]  1 for a query whose weights are finite, else 0; 0 past the block's last query
  C* position;                // [W]  of the query, counted from the tile's first key
  C* of_tile;                 // [kSums][W]
  double* total;              // [kSums][W]
  C* largest;                 // [W]  largest weight
  C* last_seen;               // [W]  of the tile: its last key that the query may see, −1 if none
  double* last_key;           // [W]  the same of all keys
  C* bins;                    // [kDistanceBins][W]
  double* at_key;             // [kPlaces][W]  weights of single keys, see Place
  std::int64_t* rows_of_key;  // [keys of a step]  queries that may see the key

  enum Place : std::uint8_t { kFirst, kFirstSeen, kPrevious, kSelf, kSelfSeen, kNext, kDuplicate, kInduction, kPlaces };

  explicit BlockSums(Carver& carver)
      : shift(carver.take<C>(kWidth)),
        low(carver.take<C>(kWidth)),
        counts(carver.take<C>(kWidth)),
        position(carver.take<C>(kWidth)),
        of_tile(carver.take<C>(kSums * kWidth)),
        total(carver.take<double>(kSums * kWidth)),
        largest(carver.take<C>(kWidth)),
        last_seen(carver.take<C>(kWidth)),
        last_key(carver.take<double>(kWidth)),
        bins(carver.take<C>(kDistanceBins * kWidth)),
        at_key(carver.take<double>(kPlaces * kWidth)),
        rows_of_key(carver.take<std::int64_t>(static_cast<std::size_t>(kKeysPerStep))) {}

  void clear() const {
    std::fill_n(total, kSums * kWidth, 0.0);
    std::fill_n(largest, kWidth, C{0});
    std::fill_n(last_key, kWidth, -1.0);
    std::fill_n(bins, kDistanceBins * kWidth, C{0});
    std::fill_n(at_key, kPlaces * kWidth, 0.0);
  }
};

// Adds one key's weights to the bins of their distances, for a vector of queries that stand side by side: `nearest` and
// `farthest` are the least and the greatest of those.
template <class C>
HWY_INLINE void add_to_bins(hn::Vec<Tag<C>> weight, hn::Vec<Tag<C>> distance, std::int64_t nearest,
                            std::int64_t farthest, std::size_t lane, C* HWY_RESTRICT bins) {
  const Tag<C> d;
  const int last = distance_bin(farthest);
  for (int bin = distance_bin(nearest); bin <= last; ++bin) {
    C* at = bins + static_cast<std::size_t>(bin) * tile_width<C>() + lane;
    // 2^(bin − 1) <= distance < 2^bin; bin 0 is distance 0.
    const auto from = hn::Set(d, bin == 0 ? C{0} : static_cast<C>(std::int64_t{1} << (bin - 1)));
    const auto to = hn::Set(
        d, bin == kDistanceBins - 1 ? std::numeric_limits<C>::infinity() : static_cast<C>(std::int64_t{1} << bin));
    const auto inside = hn::And(hn::Ge(distance, from), hn::Lt(distance, to));
    hn::Store(hn::Add(hn::Load(d, at), hn::IfThenElseZero(inside, weight)), d, at);
  }
}

// Turns the scores of a tile [count][W] into weights in place and adds them up by query. `first` is where the block's
// first query stands, counted from the tile's first key.
template <ScoreUnit kUnit, class C>
HWY_NOINLINE void weigh_queries(std::int64_t count, int vectors, std::int64_t first, C* HWY_RESTRICT scores,
                                const BlockSums<C>& sums) {
  const Tag<C> d;
  constexpr std::size_t kWidth = tile_width<C>();
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  constexpr double kLn2 = 0.69314718055994530942;
  const auto hidden = hn::Set(d, -std::numeric_limits<C>::infinity());
  const auto lowest = hn::Set(d, std::numeric_limits<C>::lowest());
  const auto unit = hn::Set(d, static_cast<C>(kUnit == ScoreUnit::kLog2 ? kLn2 : 1.0));
  std::fill_n(sums.rows_of_key, count, std::int64_t{0});
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(vectors * kLanes); lane += kLanes) {
    const auto counted = hn::Ne(hn::Load(d, sums.counts + lane), hn::Zero(d));
    const auto shift = hn::Load(d, sums.shift + lane), low = hn::Load(d, sums.low + lane);
    const auto position = hn::Load(d, sums.position + lane);
    auto mass = hn::Zero(d), information = hn::Zero(d), square = hn::Zero(d), far = hn::Zero(d), seen = hn::Zero(d),
         seen_far = hn::Zero(d), last = hn::Set(d, C{-1}), largest = hn::Load(d, sums.largest + lane);
    const std::int64_t from = first + static_cast<std::int64_t>(lane), to = from + kLanes - 1;
    for (std::int64_t j = 0; j < count; ++j) {
      C* at = scores + static_cast<std::size_t>(j) * kWidth + lane;
      const auto score = hn::Load(d, at);
      const auto sees = hn::And(counted, hn::Ne(score, hidden));
      const auto key = hn::Set(d, static_cast<C>(j));
      const auto distance = hn::Abs(hn::Sub(position, key));
      const auto exponent = hn::IfThenElse(sees, hn::Sub(hn::Sub(score, shift), low), lowest);
      const auto weight = hn::IfThenElseZero(sees, exp_difference<kUnit>(d, exponent, hn::Zero(d)));
      hn::Store(weight, d, at);
      mass = hn::Add(mass, weight);
      information = hn::MulAdd(weight, exponent, information);
      square = hn::MulAdd(weight, weight, square);
      far = hn::MulAdd(weight, distance, far);
      seen = hn::Add(seen, hn::IfThenElseZero(sees, hn::Set(d, C{1})));
      seen_far = hn::Add(seen_far, hn::IfThenElseZero(sees, distance));
      last = hn::IfThenElse(sees, key, last);
      largest = hn::Max(largest, weight);
      sums.rows_of_key[j] += static_cast<std::int64_t>(hn::CountTrue(d, sees));
      const std::int64_t nearest = j < from ? from - j : std::max<std::int64_t>(j - to, 0);
      add_to_bins<C>(weight, distance, nearest, std::max(std::abs(from - j), std::abs(to - j)), lane, sums.bins);
    }
    hn::Store(mass, d, sums.of_tile + kMass * kWidth + lane);
    hn::Store(hn::Mul(information, unit), d, sums.of_tile + kInformation * kWidth + lane);
    hn::Store(square, d, sums.of_tile + kSquare * kWidth + lane);
    hn::Store(far, d, sums.of_tile + kDistance * kWidth + lane);
    hn::Store(seen, d, sums.of_tile + kSeen * kWidth + lane);
    hn::Store(seen_far, d, sums.of_tile + kSeenDistance * kWidth + lane);
    hn::Store(last, d, sums.last_seen + lane);
    hn::Store(largest, d, sums.largest + lane);
  }
}

// mass[j] += Σ over the queries of weights[j]; weights of queries that do not count are 0.
template <class C>
HWY_NOINLINE void add_columns(std::int64_t count, int vectors, const C* HWY_RESTRICT weights,
                              double* HWY_RESTRICT mass) {
  const Tag<C> d;
  for (std::int64_t j = 0; j < count; ++j) {
    const C* row = weights + static_cast<std::size_t>(j) * tile_width<C>();
    auto sum = hn::Load(d, row);
    for (int v = 1; v < vectors; ++v)
      sum = hn::Add(sum, hn::Load(d, row + static_cast<std::size_t>(v) * hn::MaxLanes(d)));
    mass[j] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
