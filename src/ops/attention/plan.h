// Which blocks of queries there are, which of them share a task, and in which order tasks are computed.
#ifndef QKV_SRC_OPS_ATTENTION_PLAN_H_
#define QKV_SRC_OPS_ATTENTION_PLAN_H_

#include <cstddef>
#include <cstdint>

#include "src/ops/attention/forward.h"

namespace qkv {

// Tasks run batch by batch and KV head by KV head, so that the keys and values of a head stay in the cache, and
// backwards within a head: under a causal mask the last queries see the most keys, and the shortest blocks should come
// last. The query heads of a group stand side by side: their blocks see the same keys.
class ForwardPlan {
 public:
  // `threads` bounds how many blocks a task may take: no thread should wait for a long last one.
  ForwardPlan(const AttentionShape& shape, const Positions& positions, const ForwardKernel& kernel, int threads);

  // Packed sequences are cut one by one: bytes of the table that says where, and the call that fills it.
  std::size_t table_bytes() const;
  void use_table(void* memory);

  std::int64_t tasks() const { return shape_.batch * shape_.kv_heads * tasks_per_kv_head_; }
  int blocks_per_task() const { return blocks_per_task_; }
  // The blocks of a task. Constraint: use_table() was called where table_bytes() > 0.
  void fill(std::int64_t index, ForwardTask& task) const;

 private:
  struct Cut {
    std::int64_t sequence, index;  // of the block within the sequence
  };
  Cut cut(std::int64_t index) const;
  std::int64_t begin_of(const Sequence& sequence, std::int64_t index) const;

  const AttentionShape shape_;
  const Positions& positions_;
  const std::int64_t queries_, lanes_;  // of a block, of a vector
  std::int64_t blocks_ = 0;             // of one query head; every batch is cut alike
  int blocks_per_task_ = 1;
  std::int64_t tasks_per_kv_head_ = 0;
  Cut* table_ = nullptr;
};

// Pairs of a query and a key that the positions allow, over all batches and query heads.
double visible_pairs(const AttentionShape& shape, const Positions& positions);

}  // namespace qkv

#endif  // QKV_SRC_OPS_ATTENTION_PLAN_H_
