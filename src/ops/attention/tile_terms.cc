// Masks and biases, one tile at a time.
#include "src/ops/attention/tile_terms.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace qkv {
namespace {

// Address of element (batch, head, query, key) of a view broadcast to the scores.
std::int64_t offset_of(const View<const void>& view, const QueryBlock& block, std::int64_t query, std::int64_t key) {
  return block.batch * view.strides[0] + block.head * view.strides[1] + query * view.strides[2] + key * view.strides[3];
}

// allowed = 1 inside the position ranges, else 0. Row by row and in 32 bits, so that compilers vectorise it.
template <class C>
void allow_by_position(const BlockRanges& ranges, const TileExtent& tile, C* allowed) {
  std::int32_t begin[kMaxTileWidth];
  std::int32_t end[kMaxTileWidth];
  for (std::int64_t i = 0; i < tile.width; ++i) {
    begin[i] = static_cast<std::int32_t>(std::clamp<std::int64_t>(ranges.begin[i] - tile.key, 0, tile.count));
    end[i] = static_cast<std::int32_t>(std::clamp<std::int64_t>(ranges.end[i] - tile.key, 0, tile.count));
  }
  for (std::int32_t j = 0; j < tile.count; ++j)
    for (std::int64_t i = 0; i < tile.width; ++i)
      allowed[j * tile.width + i] = static_cast<C>((j >= begin[i]) & (j < end[i]));
}

template <class C>
void hide_by_key_mask(const ForwardCall& call, const QueryBlock& block, const TileExtent& tile, C* allowed) {
  const View<const void>& mask = call.options.key_mask;
  const auto* data = static_cast<const std::uint8_t*>(mask.data) + block.batch * mask.strides[0];
  for (std::int64_t j = 0; j < tile.count; ++j)
    if (data[(tile.key + j) * mask.strides[1]] == 0) std::fill_n(allowed + j * tile.width, tile.width, C{0});
}

template <class C>
void hide_by_keep(const ForwardCall& call, const QueryBlock& block, const TileExtent& tile, C* allowed) {
  const auto* data = static_cast<const std::uint8_t*>(call.keep.data);
  for (std::int64_t i = 0; i < block.count; ++i) {
    const auto* row = data + offset_of(call.keep, block, block.begin + i, tile.key);
    for (std::int64_t j = 0; j < tile.count; ++j)
      if (row[j * call.keep.strides[3]] == 0) allowed[j * tile.width + i] = C{0};
  }
}

// One element of the bias: its value in C, or hidden. Finite values stay finite: only -inf is a mask.
template <class C>
bool bias_value(double value, C& result) {
  if (value == -std::numeric_limits<double>::infinity()) return false;
  constexpr double kLargest = std::numeric_limits<C>::max();
  result = static_cast<C>(std::isfinite(value) ? std::clamp(value, -kLargest, kLargest) : value);
  return true;
}

template <class C>
void read_bias(const ForwardCall& call, const QueryBlock& block, const TileExtent& tile, C* allowed, C* bias) {
  std::fill_n(bias, tile.count * tile.width, C{0});
  for (std::int64_t i = 0; i < block.count; ++i) {
    const std::int64_t row = offset_of(call.bias, block, block.begin + i, tile.key);
    for (std::int64_t j = 0; j < tile.count; ++j) {
      const std::int64_t at = j * tile.width + i;
      if (allowed[at] == C{0}) continue;  // what may not be seen is not read into anything
      if (!bias_value(element_as_double(call.bias, row + j * call.bias.strides[3]), bias[at])) allowed[at] = C{0};
    }
  }
}

template <class C>
Visibility look(const QueryBlock& block, const TileExtent& tile, const C* allowed) {
  bool some = false;
  bool all = true;
  for (std::int64_t j = 0; j < tile.count; ++j)
    for (std::int64_t i = 0; i < block.count; ++i) {
      const bool seen = allowed[j * tile.width + i] != C{0};
      some |= seen;
      all &= seen;
    }
  return all ? Visibility::kAll : some ? Visibility::kSome : Visibility::kNone;
}

}  // namespace

BlockRanges::BlockRanges(const Positions& positions, const QueryBlock& block, std::int64_t width) {
  const KeyRange first = positions.keys(block.sequence, block.begin);
  const KeyRange last = positions.keys(block.sequence, block.begin + block.count - 1);
  all = common = first;
  if (first.begin == last.begin && first.end == last.end) {  // neither end ever decreases
    std::fill_n(begin, width, first.begin);
    std::fill_n(end, width, first.end);
    return;
  }
  for (std::int64_t i = 0; i < width; ++i) {
    const KeyRange range = positions.keys(block.sequence, block.begin + std::min(i, block.count - 1));
    begin[i] = range.begin;
    end[i] = range.end;
    all = {std::min(all.begin, range.begin), std::max(all.end, range.end)};
    common = {std::max(common.begin, range.begin), std::min(common.end, range.end)};
  }
}

template <class C>
Visibility tile_terms(const ForwardCall& call, const QueryBlock& block, const BlockRanges& ranges,
                      const TileExtent& tile, C* allowed, C* bias) {
  const bool inside = ranges.common.begin <= tile.key && tile.key + tile.count <= ranges.common.end;
  const bool masked = call.options.key_mask.is_present() || call.keep.is_present() || call.bias.is_present();
  if (inside && !masked) return Visibility::kAll;
  if (inside)
    std::fill_n(allowed, tile.count * tile.width, C{1});
  else
    allow_by_position(ranges, tile, allowed);
  if (!masked) return Visibility::kSome;
  if (call.options.key_mask.is_present()) hide_by_key_mask(call, block, tile, allowed);
  if (call.keep.is_present()) hide_by_keep(call, block, tile, allowed);
  if (call.bias.is_present()) read_bias(call, block, tile, allowed, bias);
  return look(block, tile, allowed);
}

template Visibility tile_terms(const ForwardCall&, const QueryBlock&, const BlockRanges&, const TileExtent&, float*,
                               float*);
template Visibility tile_terms(const ForwardCall&, const QueryBlock&, const BlockRanges&, const TileExtent&, double*,
                               double*);

}  // namespace qkv
