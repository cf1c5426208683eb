// What mask tensors and a bias do to one tile of scores, read row by row and turned into lanes.

#if defined(QKV_SRC_OPS_ATTENTION_TILE_TERMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_TILE_TERMS_INL_H_
#undef QKV_SRC_OPS_ATTENTION_TILE_TERMS_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_TILE_TERMS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "src/ops/attention/forward.h"
#include "src/ops/attention/tile_terms.h"
#include "src/ops/dot/dot-inl.h"
#include "src/ops/dot/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Keys that fit the rows on the stack; a longer tile is done piece by piece.
inline constexpr std::int64_t kTermKeys = 128;

// Where the row of a query begins in a view that was broadcast to the scores, at a tile's first key.
inline std::int64_t term_row(const View<const void>& view, const QueryBlock& block, std::int64_t i, std::int64_t key) {
  return block.batch * view.strides[0] + block.head * view.strides[1] + (block.begin + i) * view.strides[2] +
         key * view.strides[3];
}

// How much of a tile a boolean mask lets through, without writing anything: most masks are all or nothing almost
// everywhere.
inline Visibility look_at_keep(const ForwardCall& call, const QueryBlock& block, std::int64_t key, std::int64_t count) {
  const View<const void>& keep = call.keep;
  const std::int64_t rows = keep.strides[2] == 0 ? 1 : block.count;
  std::int64_t seen = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto* row = static_cast<const std::uint8_t*>(keep.data) + term_row(keep, block, i, key);
    std::int32_t of_row = 0;
    if (keep.strides[3] == 1) {
      for (std::int64_t j = 0; j < count; ++j) of_row += row[j] != 0;
    } else {
      for (std::int64_t j = 0; j < count; ++j) of_row += row[j * keep.strides[3]] != 0;
    }
    seen += of_row;
    if (seen > 0 && seen < (i + 1) * count) return Visibility::kSome;
  }
  return seen == 0 ? Visibility::kNone : Visibility::kAll;
}

// rows [block.count][kTermKeys] of 1 and 0.
template <class C>
void read_keep_rows(const ForwardCall& call, const QueryBlock& block, std::int64_t key, std::int64_t count,
                    C* HWY_RESTRICT rows) {
  const View<const void>& keep = call.keep;
  for (std::int64_t i = 0; i < block.count; ++i) {
    const auto* row = static_cast<const std::uint8_t*>(keep.data) + term_row(keep, block, i, key);
    C* to = rows + i * kTermKeys;
    if (keep.strides[3] == 1) {
      for (std::int64_t j = 0; j < count; ++j) to[j] = static_cast<C>(row[j] != 0);
    } else {
      for (std::int64_t j = 0; j < count; ++j) to[j] = static_cast<C>(row[j * keep.strides[3]] != 0);
    }
  }
}

// rows [block.count][kTermKeys] of the bias as C. Finite values stay finite: only -inf is a mask.
template <class C>
void read_bias_rows(const ForwardCall& call, const QueryBlock& block, std::int64_t key, std::int64_t count,
                    C* HWY_RESTRICT rows) {
  constexpr double kLargest = std::numeric_limits<C>::max();
  const View<const void>& bias = call.bias;
  const bool converts = std::is_same_v<C, double> == (bias.dtype == DType::kF64);
  for (std::int64_t i = 0; i < block.count; ++i) {
    const std::int64_t at = term_row(bias, block, i, key);
    C* to = rows + i * kTermKeys;
    if (converts) {
      load_row(bias, at, bias.strides[3], static_cast<std::size_t>(count), to);
      continue;
    }
    for (std::int64_t j = 0; j < count; ++j) {
      const double value = element_as_double(bias, at + j * bias.strides[3]);
      to[j] = static_cast<C>(std::isfinite(value) ? std::clamp(value, -kLargest, kLargest) : value);
    }
  }
}

// allowed &= begin <= j < end, for positions counted from the piece's first key.
template <class C>
void allow_by_position(const BlockRanges& ranges, std::int64_t key, std::int64_t count, C* HWY_RESTRICT allowed) {
  const Tag<C> d;
  constexpr std::size_t kWidth = tile_width<C>();
  HWY_ALIGN C begin[kMaxTileWidth];
  HWY_ALIGN C end[kMaxTileWidth];
  for (std::size_t i = 0; i < kWidth; ++i) {
    begin[i] = static_cast<C>(std::clamp<std::int64_t>(ranges.begin[i] - key, 0, count));
    end[i] = static_cast<C>(std::clamp<std::int64_t>(ranges.end[i] - key, 0, count));
  }
  for (std::int64_t j = 0; j < count; ++j)
    for (std::size_t lane = 0; lane < kWidth; lane += hn::MaxLanes(d)) {
      C* at = allowed + static_cast<std::size_t>(j) * kWidth + lane;
      const auto here = hn::Set(d, static_cast<C>(j));
      const auto inside = hn::And(hn::Ge(here, hn::Load(d, begin + lane)), hn::Lt(here, hn::Load(d, end + lane)));
      hn::Store(hn::IfThenElseZero(inside, hn::Load(d, at)), d, at);
    }
}

// A bias of -inf hides its key; what is hidden has no bias, whatever stood there.
template <class C>
void settle_bias(std::int64_t count, C* HWY_RESTRICT allowed, C* HWY_RESTRICT bias) {
  const Tag<C> d;
  const auto hides = hn::Set(d, -std::numeric_limits<C>::infinity());
  for (std::size_t at = 0; at < static_cast<std::size_t>(count) * tile_width<C>(); at += hn::MaxLanes(d)) {
    const auto value = hn::Load(d, bias + at);
    const auto seen = hn::AndNot(hn::Eq(value, hides), hn::Ne(hn::Load(d, allowed + at), hn::Zero(d)));
    hn::Store(hn::IfThenElseZero(seen, value), d, bias + at);
    hn::Store(hn::IfThenElseZero(seen, hn::Set(d, C{1})), d, allowed + at);
  }
}

// Whether the block's own lanes see everything, something, nothing.
template <class C>
Visibility look_at_lanes(std::int64_t queries, std::int64_t count, const C* HWY_RESTRICT allowed) {
  const Tag<C> d;
  constexpr std::size_t kLanes = hn::MaxLanes(Tag<C>());
  auto least = hn::Set(d, C{1});
  auto most = hn::Zero(d);
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(queries); lane += kLanes) {
    const auto own = hn::FirstN(d, static_cast<std::size_t>(queries) - lane);
    for (std::int64_t j = 0; j < count; ++j) {
      const auto seen = hn::Load(d, allowed + static_cast<std::size_t>(j) * tile_width<C>() + lane);
      most = hn::Max(most, hn::IfThenElseZero(own, seen));
      least = hn::Min(least, hn::IfThenElse(own, seen, least));
    }
  }
  if (hn::AllTrue(d, hn::Eq(least, hn::Set(d, C{1})))) return Visibility::kAll;
  return hn::AllTrue(d, hn::Eq(most, hn::Zero(d))) ? Visibility::kNone : Visibility::kSome;
}

// Fills `allowed` [count][tile_width] with 1 where a key may be seen and 0 where not (positions, keep, key_mask, −inf
// in the bias), and `bias` (if the call has one) with its value, finite values held inside C's range, 0 where hidden.
// kNone promises nothing of either. Constraint: the call has at least one of keep, key_mask, bias.
template <class C>
HWY_NOINLINE Visibility fill_terms(const ForwardCall& call, const QueryBlock& block, const BlockRanges& ranges,
                                   const TileExtent& tile, C* allowed, C* bias) {
  const bool has_keep = call.keep.is_present();
  const Visibility kept = has_keep ? look_at_keep(call, block, tile.key, tile.count) : Visibility::kAll;
  if (kept == Visibility::kNone) return kept;
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  HWY_ALIGN C rows[kMaxTileWidth * kTermKeys];
  for (std::int64_t first = 0; first < tile.count; first += kTermKeys) {
    const std::int64_t key = tile.key + first;
    const std::int64_t count = std::min(kTermKeys, tile.count - first);
    C* piece = allowed + first * kWidth;
    std::fill_n(piece, count * kWidth, C{1});
    if (kept == Visibility::kSome) {
      read_keep_rows(call, block, key, count, rows);
      transpose(rows, kTermKeys, block.count, count, piece, kWidth);
    }
    const bool inside = ranges.common.begin <= key && key + count <= ranges.common.end;
    if (!inside) allow_by_position(ranges, key, count, piece);
    if (const View<const void>& mask = call.options.key_mask; mask.is_present()) {
      const auto* data = static_cast<const std::uint8_t*>(mask.data) + block.batch * mask.strides[0];
      for (std::int64_t j = 0; j < count; ++j)
        if (data[(key + j) * mask.strides[1]] == 0) std::fill_n(piece + j * kWidth, kWidth, C{0});
    }
    if (!call.bias.is_present()) continue;
    if (block.count < kWidth) std::fill_n(bias + first * kWidth, count * kWidth, C{0});
    read_bias_rows(call, block, key, count, rows);
    transpose(rows, kTermKeys, block.count, count, bias + first * kWidth, kWidth);
    settle_bias(count, piece, bias + first * kWidth);
  }
  return look_at_lanes(block.count, tile.count, allowed);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
