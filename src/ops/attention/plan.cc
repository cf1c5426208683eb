// Cutting the queries into blocks, and dealing the blocks out to tasks.
#include "src/ops/attention/plan.h"

#include <algorithm>

namespace qkv {
namespace {

// Enough tasks a thread that the last ones end at about the same time.
constexpr std::int64_t kTasksPerThread = 8;

std::int64_t blocks_of(const Sequence& sequence, std::int64_t queries_per_block) {
  return (sequence.query_end - sequence.query_begin + queries_per_block - 1) / queries_per_block;
}

}  // namespace

ForwardPlan::ForwardPlan(const AttentionShape& shape, const Positions& positions, const ForwardKernel& kernel,
                         int threads)
    : shape_(shape), positions_(positions), queries_(kernel.queries), lanes_(kernel.lanes) {
  if (shape.batch == 0 || shape.query_heads == 0) return;
  for (std::int64_t s = 0; s < positions.sequence_count(); ++s)
    blocks_ += blocks_of(positions.sequence(0, s), queries_);
  const std::int64_t of_kv_head = blocks_ * shape.group();
  const std::int64_t rows = shape.batch * shape.kv_heads;
  // With one thread nobody waits; else a task takes as few blocks as leave every thread enough of them.
  const std::int64_t wanted = threads == 1 ? 1 : (threads * kTasksPerThread + rows - 1) / rows;
  const std::int64_t most = (of_kv_head + wanted - 1) / wanted;
  blocks_per_task_ = static_cast<int>(std::clamp<std::int64_t>(most, 1, kMaxBlocksPerTask));
  tasks_per_kv_head_ = (of_kv_head + blocks_per_task_ - 1) / blocks_per_task_;
}

std::size_t ForwardPlan::table_bytes() const {
  return positions_.sequence_count() > 1 ? static_cast<std::size_t>(blocks_) * sizeof(Cut) : 0;
}

void ForwardPlan::use_table(void* memory) {
  if (table_bytes() == 0) return;
  table_ = static_cast<Cut*>(memory);
  Cut* next = table_;
  for (std::int64_t s = 0; s < positions_.sequence_count(); ++s) {
    const std::int64_t blocks = blocks_of(positions_.sequence(0, s), queries_);
    for (std::int64_t index = 0; index < blocks; ++index) *next++ = {s, index};
  }
}

ForwardPlan::Cut ForwardPlan::cut(std::int64_t index) const {
  if (table_ != nullptr) return table_[index];
  return {0, index};
}

// First query of a block. A last block of one vector would load more than it multiplies: it takes a vector from the
// block before it.
std::int64_t ForwardPlan::begin_of(const Sequence& sequence, std::int64_t index) const {
  const std::int64_t queries = sequence.query_end - sequence.query_begin;
  const std::int64_t rest = queries % queries_;
  const bool borrows = index > 0 && index == queries / queries_ && rest > 0 && rest <= lanes_ && queries_ == 3 * lanes_;
  return std::min(sequence.query_end, sequence.query_begin + index * queries_ - (borrows ? lanes_ : 0));
}

void ForwardPlan::fill(std::int64_t index, ForwardTask& task) const {
  const std::int64_t row = index / tasks_per_kv_head_;  // (batch, KV head)
  const std::int64_t batch = row / shape_.kv_heads;
  const std::int64_t group = shape_.group();
  const std::int64_t all = blocks_ * group;
  // Units count (block, head in the group) from the last block to the first.
  const std::int64_t first = index % tasks_per_kv_head_ * blocks_per_task_;
  task.count = static_cast<int>(std::min<std::int64_t>(blocks_per_task_, all - first));
  for (int i = 0; i < task.count; ++i) {
    const std::int64_t unit = first + i;
    const Cut at = cut(blocks_ - 1 - unit / group);
    const Sequence sequence = positions_.sequence(batch, at.sequence);
    const std::int64_t begin = begin_of(sequence, at.index);
    task.blocks[i] = {batch, row % shape_.kv_heads * group + unit % group, begin,
                      begin_of(sequence, at.index + 1) - begin, sequence};
  }
}

double visible_pairs(const AttentionShape& shape, const Positions& positions) {
  double pairs = 0;
  for (std::int64_t batch = 0; batch < shape.batch; ++batch)
    for (std::int64_t s = 0; s < positions.sequence_count(); ++s) {
      const Sequence sequence = positions.sequence(batch, s);
      for (std::int64_t query = sequence.query_begin; query < sequence.query_end; ++query) {
        const KeyRange range = positions.keys(sequence, query);
        pairs += static_cast<double>(range.end - range.begin);
      }
    }
  return pairs * static_cast<double>(shape.query_heads);
}

}  // namespace qkv
