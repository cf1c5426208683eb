// How a decode step is cut: sequences into chunks of keys, heads into blocks of rows.
#ifndef QKV_SRC_OPS_ATTENTION_DECODE_PLAN_H_
#define QKV_SRC_OPS_ATTENTION_DECODE_PLAN_H_

#include <cstdint>
#include <span>

#include "src/ops/attention/decode.h"

namespace qkv {

// Cuts depend on a sequence's own length and on the shape of a head, never on threads or on the other sequences, so
// that neither changes a bit. Tasks run sequence by sequence, head by head, chunk by chunk, in the order of memory, and
// all rows of a chunk one after the other, while it is in the cache.
class DecodePlan {
 public:
  // `lengths`: tokens in the cache before the append of `appended`. Constraint: they outlive the plan.
  DecodePlan(const AttentionShape& shape, DType dtype, const Positions& positions,
             std::span<const std::int64_t> lengths, std::int64_t appended);

  // A table of the sequences' cuts, which the plan fills and needs to hand out tasks.
  std::size_t table_bytes() const { return lengths_.size() * sizeof(Cut); }
  void use_table(void* memory);

  std::int64_t tasks() const { return tasks_; }
  std::int64_t parts() const { return parts_; }            // of chunks that are merged later
  double visible_pairs() const { return visible_pairs_; }  // over all query heads
  double keys_read() const { return keys_read_; }          // over all KV heads

  DecodeTask task(std::int64_t index) const;

  // Groups are the tasks of the same rows, one a chunk, whose parts are merged: row_blocks() · Hkv of each batch entry.
  std::int64_t groups() const { return shape_.batch * groups_per_batch(); }
  std::int64_t chunks_of_group(std::int64_t group) const;
  std::int64_t first_part_of_group(std::int64_t group) const;  // constraint: more than one chunk

 private:
  struct Cut {
    KeyRange keys;            // what any query sees
    std::int64_t chunk_keys;  // in all chunks but the last
    std::int64_t chunks;      // at least 1
    std::int64_t first_task, first_part;
  };
  std::int64_t groups_per_batch() const { return shape_.kv_heads * row_blocks_; }
  Cut cut(std::int64_t batch) const;  // its first_task and first_part are left open
  const Cut& cut_of(std::int64_t index) const;
  Sequence sequence(std::int64_t batch) const;

  const AttentionShape shape_;
  const Positions& positions_;
  std::span<const std::int64_t> lengths_;
  std::int64_t appended_;
  std::int64_t rows_;  // G · t
  std::int64_t row_blocks_;
  std::int64_t smallest_chunk_;  // keys
  std::int64_t tasks_ = 0;
  std::int64_t parts_ = 0;
  double visible_pairs_ = 0;
  double keys_read_ = 0;
  const Cut* table_ = nullptr;
};

}  // namespace qkv

#endif  // QKV_SRC_OPS_ATTENTION_DECODE_PLAN_H_
