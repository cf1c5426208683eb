// Cutting the backward pass into panels of keys, blocks of queries and tasks.
#include <algorithm>

#include "src/ops/attention/backward.h"

namespace qkv {
namespace {

// k, v, dk and dv of a panel together: half of a 2 MB L2 cache, the other half for the queries that pass by.
constexpr std::int64_t kPanelBytes = std::int64_t{1} << 20;
// So many tasks keep a machine's cores busy to the end; panels are not cut shorter than kFewestKeys for it.
constexpr std::int64_t kTasksWanted = 24;
constexpr std::int64_t kFewestKeys = 192;
// Panels hold whole register tiles of keys: 8 rows in the scores, 6 in the sums over the queries.
constexpr std::int64_t kKeyGrain = 24;

std::int64_t divided_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

void cut_keys(const AttentionShape& shape, DType dtype, BackwardCuts& cuts) {
  const std::int64_t key_bytes = std::int64_t{dtype == DType::kF64 ? 16 : 8} * (shape.width + shape.value_width);
  const std::int64_t fit = std::max<std::int64_t>(kPanelBytes / key_bytes, kKeyGrain);
  const std::int64_t heads = std::max<std::int64_t>(shape.batch * shape.kv_heads, 1);
  const std::int64_t wanted = std::min(divided_up(kTasksWanted, heads), divided_up(shape.key_length, kFewestKeys));
  const std::int64_t panels = std::max<std::int64_t>({wanted, divided_up(shape.key_length, fit), 1});
  const std::int64_t keys = std::max<std::int64_t>(divided_up(shape.key_length, panels), 1);
  cuts.keys_per_panel = divided_up(keys, kKeyGrain) * kKeyGrain;
  cuts.panels = std::max<std::int64_t>(divided_up(shape.key_length, cuts.keys_per_panel), 1);
}

}  // namespace

std::int64_t BackwardCuts::panel_of(std::int64_t key) const {
  return std::clamp<std::int64_t>(key / keys_per_panel, 0, panels - 1);
}

BackwardCuts backward_cuts(const AttentionShape& shape, const Positions& positions, DType dtype,
                           std::int64_t queries_per_block, bool measures_rows, const AttentionBackwardOutputs& outputs,
                           View<void> dbias) {
  BackwardCuts cuts;
  cuts.queries_per_block = queries_per_block;
  cut_keys(shape, dtype, cuts);
  if (shape.batch > 0)
    for (std::int64_t s = 0; s < positions.sequence_count(); ++s) {
      const Sequence sequence = positions.sequence(0, s);
      cuts.blocks += divided_up(sequence.query_end - sequence.query_begin, queries_per_block);
    }
  cuts.row_tasks_per_head = measures_rows ? divided_up(cuts.blocks, kBlocksPerRowTask) : 0;
  cuts.row_tasks = shape.batch * shape.query_heads * cuts.row_tasks_per_head;
  // A sink's gradient is summed where the panels go by.
  if (outputs.dq.is_present() || outputs.dk.is_present() || outputs.dv.is_present() || outputs.dsinks.is_present())
    cuts.panel_tasks = shape.batch * shape.kv_heads * cuts.panels;
  if (!dbias.is_present()) return cuts;
  // One task for every part of dbias that no other part is summed with: an axis that broadcasts is summed inside.
  const std::int64_t parts[] = {shape.batch, shape.query_heads, cuts.blocks, cuts.panels};
  cuts.bias_tasks = 1;
  for (int axis = 0; axis < kMaxRank; ++axis) cuts.bias_tasks *= dbias.strides[axis] == 0 ? 1 : parts[axis];
  return cuts;
}

}  // namespace qkv
