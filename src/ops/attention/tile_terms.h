// Tiles of scores, and what positions and masks leave to see of them (tile_terms-inl.h reads the masks).
#ifndef QKV_SRC_OPS_ATTENTION_TILE_TERMS_H_
#define QKV_SRC_OPS_ATTENTION_TILE_TERMS_H_

#include <cstdint>
#include <vector>

#include "src/ops/attention/forward.h"

namespace qkv {

enum class Visibility : std::uint8_t { kNone, kSome, kAll };

// The widest tile of any target: 3 vectors of 16 floats.
inline constexpr std::int64_t kMaxTileWidth = 48;

// Keys that the positions allow each query of a block; lanes past the block's last query repeat it.
struct BlockRanges {
  std::int64_t begin[kMaxTileWidth];
  std::int64_t end[kMaxTileWidth];
  KeyRange all;     // their union: what the block has to visit
  KeyRange common;  // keys that every query may see; may be empty

  BlockRanges(const Positions& positions, const QueryBlock& block, std::int64_t width);
};

// A tile of `count` keys from `key` on, for the queries of a block; its arrays are [count][width].
struct TileExtent {
  std::int64_t key = 0;
  std::int64_t count = 0;
  std::int64_t width = 0;
};

}  // namespace qkv

#endif  // QKV_SRC_OPS_ATTENTION_TILE_TERMS_H_
