// Where each query stands and which keys its position lets it see: causal, window, key lengths, packed sequences.
#ifndef QKV_SRC_CORE_POSITIONS_H_
#define QKV_SRC_CORE_POSITIONS_H_

#include <cstdint>
#include <span>

#include "qkv/options.h"
#include "src/core/check_attention.h"

namespace qkv {

// Checks key_lengths, cu_seqlens and that a corner is given where one is needed; messages lack the "attention: "
// prefix.
Status check_positions(const AttentionShape& shape, const AttentionOptions& options);

// Keys [begin, end).
struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// One packed sequence, or the whole of a batch entry: its queries, its keys that exist, and its offset.
// Query i stands at key position  key_begin + (i − query_begin) + offset.
struct Sequence {
  std::int64_t query_begin, query_end;
  std::int64_t key_begin, key_end;  // key_end is cut by key_lengths
  std::int64_t offset;
};

// The position rules of one call, corners resolved. Allocates nothing. Constraints: check_positions() passed; the spans
// of `options` outlive it.
class Positions {
 public:
  Positions(const AttentionShape& shape, const AttentionOptions& options);

  // The sequences of a batch entry, in order; they cover [0, Tq). Batch entries differ in their keys only.
  std::int64_t sequence_count() const;
  Sequence sequence(std::int64_t batch, std::int64_t index) const;
  Sequence sequence_of(std::int64_t batch, std::int64_t query) const;

  // Key coordinate at which a query of `sequence` stands; may lie outside [0, Tk).
  static std::int64_t position(const Sequence& sequence, std::int64_t query) {
    return sequence.key_begin + (query - sequence.query_begin) + sequence.offset;
  }

  // The keys that sequence bounds, key length, causality and window together allow. begin == end if none.
  // Within a sequence begin and end never decrease as the query grows.
  KeyRange keys(const Sequence& sequence, std::int64_t query) const;

 private:
  Causality causality_;
  Window window_;
  Corner corner_;
  std::int64_t offset_;
  std::int64_t query_length_, key_length_;
  std::span<const std::int64_t> key_lengths_, cu_seqlens_q_, cu_seqlens_k_;
};

}  // namespace qkv

#endif  // QKV_SRC_CORE_POSITIONS_H_
