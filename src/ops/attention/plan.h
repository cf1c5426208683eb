// Which blocks of queries there are and in which order they are computed.
#ifndef QKV_SRC_OPS_ATTENTION_PLAN_H_
#define QKV_SRC_OPS_ATTENTION_PLAN_H_

#include <cstdint>
#include <vector>

#include "src/ops/attention/forward.h"

namespace qkv {

// Tasks run batch by batch and head by head, so that the keys and values of a head stay in the cache, and backwards
// within a head: under a causal mask the last queries see the most keys, and the shortest blocks should come last.
class ForwardPlan {
 public:
  ForwardPlan(const AttentionShape& shape, const Positions& positions, std::int64_t queries_per_block);

  std::int64_t tasks() const { return shape_.batch * shape_.query_heads * static_cast<std::int64_t>(blocks_.size()); }
  QueryBlock block(std::int64_t task) const;

  // 2 (D + Dv) for every pair that the positions allow.
  double flops() const { return flops_; }

 private:
  struct Block {
    std::size_t sequence;
    std::int64_t begin, count;
  };
  const AttentionShape shape_;
  const Positions& positions_;
  std::vector<Block> blocks_;  // of one head; every batch is cut alike
  double flops_ = 0;
};

}  // namespace qkv

#endif  // QKV_SRC_OPS_ATTENTION_PLAN_H_
