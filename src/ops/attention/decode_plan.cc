// Cutting sequences into chunks.
#include "src/ops/attention/decode_plan.h"

#include <algorithm>

namespace qkv {
namespace {

// K and V of a chunk: some tens of microseconds of reading, so that starting one is not felt and 16 cores find work in
// a few thousand keys.
constexpr std::int64_t kChunkBytes = 512 << 10;
constexpr std::int64_t kUnit = 64;        // chunks are whole multiples, so that their blocks of keys are whole too
constexpr std::int64_t kMostChunks = 32;  // a sequence and head; bounds the memory for parts

constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

DecodePlan::DecodePlan(const AttentionShape& shape, DType dtype, const Positions& positions,
                       std::span<const std::int64_t> lengths, std::int64_t appended)
    : shape_(shape),
      positions_(positions),
      lengths_(lengths),
      appended_(appended),
      rows_(shape.group() * shape.query_length),
      row_blocks_((rows_ + kMostRows - 1) / kMostRows) {
  const std::int64_t key_bytes = (shape.width + shape.value_width) * static_cast<std::int64_t>(size_of(dtype));
  smallest_chunk_ = std::max(kUnit, kChunkBytes / key_bytes / kUnit * kUnit);
  if (shape.kv_heads == 0) return;
  for (std::int64_t batch = 0; batch < shape.batch; ++batch) {
    const Cut its = cut(batch);
    const std::int64_t its_tasks = groups_per_batch() * its.chunks;
    tasks_ += its_tasks;
    if (its.chunks > 1) parts_ += its_tasks;
    double pairs = 0;
    for (std::int64_t query = 0; query < shape.query_length; ++query) {
      const KeyRange seen = positions.keys(sequence(batch), query);
      pairs += static_cast<double>(seen.end - seen.begin);
    }
    visible_pairs_ += pairs * static_cast<double>(shape.query_heads);
    keys_read_ += static_cast<double>((its.keys.end - its.keys.begin) * shape.kv_heads);
  }
}

Sequence DecodePlan::sequence(std::int64_t batch) const {
  const std::int64_t length = lengths_[static_cast<std::size_t>(batch)] + appended_;
  return {0, shape_.query_length, 0, length, length - shape_.query_length};
}

DecodePlan::Cut DecodePlan::cut(std::int64_t batch) const {
  const Sequence its = sequence(batch);
  Cut result{};
  result.keys = {positions_.keys(its, 0).begin, positions_.keys(its, shape_.query_length - 1).end};
  result.keys.end = std::max(result.keys.begin, result.keys.end);
  const std::int64_t count = result.keys.end - result.keys.begin;
  result.chunk_keys = std::max(smallest_chunk_, round_up((count + kMostChunks - 1) / kMostChunks, kUnit));
  result.chunks = std::max<std::int64_t>(1, (count + result.chunk_keys - 1) / result.chunk_keys);
  return result;
}

void DecodePlan::use_table(void* memory) {
  auto* table = static_cast<Cut*>(memory);
  std::int64_t task = 0;
  std::int64_t part = 0;
  for (std::int64_t batch = 0; batch < shape_.batch; ++batch) {
    Cut its = cut(batch);
    its.first_task = task;
    its.first_part = part;
    const std::int64_t its_tasks = groups_per_batch() * its.chunks;
    task += its_tasks;
    if (its.chunks > 1) part += its_tasks;
    table[batch] = its;
  }
  table_ = table;
}

const DecodePlan::Cut& DecodePlan::cut_of(std::int64_t index) const {
  const Cut* end = table_ + shape_.batch;
  return *(
      std::upper_bound(table_, end, index, [](std::int64_t task, const Cut& its) { return task < its.first_task; }) -
      1);
}

std::int64_t DecodePlan::chunks_of_group(std::int64_t group) const { return table_[group / groups_per_batch()].chunks; }

std::int64_t DecodePlan::first_part_of_group(std::int64_t group) const {
  const Cut& its = table_[group / groups_per_batch()];
  return its.first_part + group % groups_per_batch() * its.chunks;
}

DecodeTask DecodePlan::task(std::int64_t index) const {
  const Cut& its = cut_of(index);
  const std::int64_t number = index - its.first_task;
  const std::int64_t row_block = number % row_blocks_;
  DecodeTask task;
  task.batch = &its - table_;
  task.kv_head = number / row_blocks_ / its.chunks;
  task.group = (task.batch * shape_.kv_heads + task.kv_head) * row_blocks_ + row_block;
  task.chunk = number / row_blocks_ % its.chunks;
  task.row_begin = row_block * kMostRows;
  task.row_count = std::min(kMostRows, rows_ - task.row_begin);
  task.sequence = sequence(task.batch);
  // Of the chunk, what this block's own queries may see.
  const std::int64_t first_query = task.row_begin / shape_.group();
  const std::int64_t last_query = (task.row_begin + task.row_count - 1) / shape_.group();
  const std::int64_t begin = positions_.keys(task.sequence, first_query).begin;
  const std::int64_t end = positions_.keys(task.sequence, last_query).end;
  const auto cut_out = [&](std::int64_t which) -> KeyRange {
    const std::int64_t from = its.keys.begin + which * its.chunk_keys;
    const std::int64_t to = std::min(its.keys.end, from + its.chunk_keys);
    return {std::max(from, begin), std::max(std::max(from, begin), std::min(to, end))};
  };
  task.keys = cut_out(task.chunk);
  if (task.chunk + 1 < its.chunks) task.next_keys = cut_out(task.chunk + 1);
  return task;
}

}  // namespace qkv
