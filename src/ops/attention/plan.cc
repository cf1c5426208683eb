// Cutting the queries into blocks.
#include "src/ops/attention/plan.h"

#include <algorithm>

namespace qkv {

ForwardPlan::ForwardPlan(const AttentionShape& shape, const Positions& positions, std::int64_t queries_per_block)
    : shape_(shape), positions_(positions) {
  if (shape.batch == 0 || shape.query_heads == 0) return;
  // Sequences differ between batches in their keys only, never in their queries.
  const std::vector<Sequence>& sequences = positions.sequences(0);
  for (std::size_t s = sequences.size(); s-- > 0;) {
    const Sequence& sequence = sequences[s];
    const std::int64_t queries = sequence.query_end - sequence.query_begin;
    for (std::int64_t first = (queries - 1) / queries_per_block * queries_per_block; queries > 0 && first >= 0;
         first -= queries_per_block)
      blocks_.push_back({s, sequence.query_begin + first, std::min(queries_per_block, queries - first)});
  }
  double pairs = 0;
  for (std::int64_t batch = 0; batch < shape.batch; ++batch)
    for (const Sequence& sequence : positions.sequences(batch))
      for (std::int64_t query = sequence.query_begin; query < sequence.query_end; ++query) {
        const KeyRange range = positions.keys(sequence, query);
        pairs += static_cast<double>(range.end - range.begin);
      }
  flops_ = 2.0 * static_cast<double>(shape.width + shape.value_width) * static_cast<double>(shape.query_heads) * pairs;
}

QueryBlock ForwardPlan::block(std::int64_t task) const {
  const auto count = static_cast<std::int64_t>(blocks_.size());
  const std::int64_t row = task / count;  // (batch, head)
  const Block& block = blocks_[static_cast<std::size_t>(task % count)];
  const std::int64_t batch = row / shape_.query_heads;
  return {batch, row % shape_.query_heads, block.begin, block.count, &positions_.sequences(batch)[block.sequence]};
}

}  // namespace qkv
