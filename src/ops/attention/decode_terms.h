// What masks, biases and slopes do to the scores of some rows with a block of keys.
#ifndef QKV_SRC_OPS_ATTENTION_DECODE_TERMS_H_
#define QKV_SRC_OPS_ATTENTION_DECODE_TERMS_H_

#include <cstdint>
#include <span>

#include "src/ops/attention/decode.h"
#include "src/ops/attention/tile_terms.h"

namespace qkv {

// Scores lie tile by tile: all rows of a group with a few keys, the keys of a row side by side.
struct ScoreLayout {
  std::int64_t tile = 0;  // scores in a tile
  std::int64_t keys = 0;  // of each row in a tile
  std::int64_t index(std::int64_t row, std::int64_t key) const { return key / keys * tile + row * keys + key % keys; }
  std::int64_t size(std::int64_t key_count) const { return (key_count + keys - 1) / keys * tile; }
};

// Consecutive rows of a task, and the keys that the position of each lets it see.
struct RowGroup {
  std::int64_t row_begin = 0;  // counted from row 0 of the KV head
  std::int64_t row_count = 0;
  const KeyRange* ranges = nullptr;  // [row_count]
};

// The keys of a block, in the order of their scores, and the smallest range that holds them.
struct KeyBlock {
  std::span<const std::int64_t> keys;
  KeyRange within;
};

// Fills `allowed` with 1 where a row may see a key and 0 where not (positions, keep, key_mask, −inf in the bias, rows
// past the group's last), and `added` with bias − slope · distance, finite values held inside C's range, 0 where
// hidden. Answers kAll without filling anything where there is nothing to fill, kNone without promising anything.
template <class C>
Visibility decode_terms(const DecodeCall& call, const DecodeTask& task, const RowGroup& group, const KeyBlock& block,
                        const ScoreLayout& layout, C* allowed, C* added);

}  // namespace qkv

#endif  // QKV_SRC_OPS_ATTENTION_DECODE_TERMS_H_
