// What the parts of the backward pass hand to each other: the call, how it is cut, the kernel of a target. No SIMD
// here.
#ifndef QKV_SRC_OPS_ATTENTION_BACKWARD_H_
#define QKV_SRC_OPS_ATTENTION_BACKWARD_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "qkv/attention.h"
#include "src/core/stop_flag.h"
#include "src/ops/attention/forward.h"

namespace qkv {

// How a call is cut, by its shape alone: never by the number of threads, since what is summed together decides bits.
struct BackwardCuts {
  std::int64_t queries_per_block = 0;
  std::int64_t blocks = 0;          // of one query head; blocks keep to their sequence, so every batch is cut alike
  std::int64_t keys_per_panel = 0;  // a panel's k, v, dk and dv stay in the L2 cache while all queries pass by
  std::int64_t panels = 0;          // at least 1
  // Tasks: those that measure rows anew (none as a rule), then the first panels of the KV heads, the second ones and so
  // on, so that a panel rarely waits for the one before it, then the parts of dbias.
  std::int64_t row_tasks_per_head = 0;
  std::int64_t row_tasks = 0, panel_tasks = 0, bias_tasks = 0;

  std::int64_t tasks() const { return row_tasks + panel_tasks + bias_tasks; }
  std::int64_t panel_of(std::int64_t key) const;  // the panel that holds a key; the last one for those past the end
};

// Blocks of queries whose rows one task measures.
inline constexpr std::int64_t kBlocksPerRowTask = 8;

// Whether a row's weights are to be measured from its largest score and sum, computed anew, since the rounding of its
// lse would show in exp(s − lse): beyond 16 always, and beyond 8 where the mean of exp(s) over the `keys` that it may
// see is so large that single weights are. Scores of N(0,1) stay below at any length.
inline constexpr double kSmallLse = 8;
inline bool is_large(double lse, std::int64_t keys) {
  constexpr double kAlways = 16, kMean = 4;
  const double size = std::fabs(lse);
  if (!(size > kSmallLse) || std::isinf(size)) return false;
  return size > kAlways || std::fabs(lse - std::log(static_cast<double>(std::max<std::int64_t>(keys, 1)))) > kMean;
}

// Max and 1 / sum of rows with a large lse. Arrays [B,Hq,Tq] of the compute type; null where no lse is large.
struct RowTerms {
  void* shift = nullptr;  // +inf for an empty row
  void* share = nullptr;  // of a tile of rows all are 0 (their lse serves) or none
};

// Where dq is of a 16-bit type, its own memory holds the upper halves of partial sums between two panels, and this the
// lower ones. KV heads take turns at it: so many are under way at once as memory allows, which changes no sum.
struct DqRests {
  std::int64_t heads_at_once = 1;       // all KV heads of the batch where there are no rests
  std::uint16_t* of_dq = nullptr;       // [heads_at_once,G,Tq,D]; null where dq holds its sums or no two are added
  std::int32_t* panels_done = nullptr;  // [B,Hkv]: panels that have ended
};

// Everything that is the same for all tasks of one call. Checked; read-only, but for what the pointers lead to.
struct BackwardCall {
  ForwardCall forward;  // without outputs
  AttentionBackwardInputs inputs;
  AttentionBackwardOutputs outputs;
  View<void> dbias;  // of outputs, broadcast to [B,Hq,Tq,Tk]
  BackwardCuts cuts;
  RowTerms rows;
  double* sink_parts = nullptr;  // [B,Hq,blocks]: Σ p_sink · (delta − dlse); null where dsinks is not asked for
  DqRests rests;
  std::int32_t* rows_done = nullptr;  // [B,Hq]: row tasks that have ended
  std::int32_t* turns = nullptr;      // [B,Hq,blocks]: panels that have added to a block's dq, in their order
  StopFlag* stop = nullptr;           // a panel of a long sequence takes a tenth of a second and more
};

// Which panel a task is.
struct PanelTask {
  std::int64_t head;  // of the B·Hkv
  std::int64_t panel;
};

// The first panels of all KV heads that are under way at once, then the second ones and so on; then the next heads.
inline PanelTask panel_task(const BackwardCall& call, std::int64_t task) {
  const std::int64_t heads = call.forward.shape.batch * call.forward.shape.kv_heads;
  const std::int64_t first = task / (call.rests.heads_at_once * call.cuts.panels) * call.rests.heads_at_once;
  const std::int64_t here = std::min(call.rests.heads_at_once, heads - first);
  task -= first * call.cuts.panels;
  return {first + task % here, task / here};
}

// Constraint: there are rests.
inline std::uint16_t* rests_of_row(const BackwardCall& call, const QueryBlock& block, std::int64_t query) {
  const AttentionShape& shape = call.forward.shape;
  const std::int64_t group = shape.group();
  const std::int64_t place = (block.batch * shape.kv_heads + block.head / group) % call.rests.heads_at_once;
  const std::int64_t row = (place * group + block.head % group) * shape.query_length + query;
  return call.rests.of_dq + row * shape.width;
}

// Calls visit(index, block) for the blocks of query head (batch, head), the last queries first: panels that run side by
// side then begin where they are the first to add to dq. The first block of a sequence is the one that is not full:
// under a causal mask it sees the fewest keys.
template <class Visit>
void for_each_block(const BackwardCall& call, std::int64_t batch, std::int64_t head, const Visit& visit) {
  const Positions& positions = call.forward.positions;
  std::int64_t index = call.cuts.blocks;
  for (std::int64_t s = positions.sequence_count(); s-- > 0;) {
    const Sequence sequence = positions.sequence(batch, s);
    for (std::int64_t end = sequence.query_end; end > sequence.query_begin;) {
      const std::int64_t begin = std::max(end - call.cuts.queries_per_block, sequence.query_begin);
      visit(--index, QueryBlock{batch, head, begin, end - begin, sequence});
      end = begin;
    }
  }
}

// The backward pass compiled for one target and compute type.
struct BackwardKernel {
  std::int64_t queries = 0;  // the most that a block may hold
  std::size_t (*scratch_bytes)(const BackwardCall& call) = nullptr;
  // Runs task [0, cuts.tasks()). `scratch` is 64-byte aligned and belongs to this task alone. A task waits for others
  // with smaller numbers only, so they must be begun in order.
  void (*run)(const BackwardCall& call, std::int64_t task, void* scratch) = nullptr;
};

// Constraint: `target` is one of available_targets(). f64 computes in double, everything else in float.
BackwardKernel backward_kernel(Target target, DType dtype);

// How a call of this shape is cut. `measures_rows`: some lse is large. `dbias`: broadcast to [B,Hq,Tq,Tk], or absent.
BackwardCuts backward_cuts(const AttentionShape& shape, const Positions& positions, DType dtype,
                           std::int64_t queries_per_block, bool measures_rows, const AttentionBackwardOutputs& outputs,
                           View<void> dbias);

}  // namespace qkv

#endif  // QKV_SRC_OPS_ATTENTION_BACKWARD_H_
