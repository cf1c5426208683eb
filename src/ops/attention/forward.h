// What the parts of the forward pass hand to each other: the call, a block of queries, the kernel of a target. No SIMD
// here.
#ifndef QKV_SRC_OPS_ATTENTION_FORWARD_H_
#define QKV_SRC_OPS_ATTENTION_FORWARD_H_

#include <cstddef>
#include <cstdint>

#include "qkv/attention.h"
#include "src/core/check_attention.h"
#include "src/core/positions.h"

namespace qkv {

// Everything that is the same for all blocks of one call. Checked; read-only.
struct ForwardCall {
  AttentionShape shape;
  AttentionInputs inputs;
  AttentionOutputs outputs;
  const AttentionOptions& options;
  const Positions& positions;
  double scale = 1;
  View<const void> keep;  // broadcast to [B,Hq,Tq,Tk]; absent if there is none
  View<const void> bias;  // the same
  bool by_pairs = false;  // see computes_by_pairs
};

// Consecutive queries of one head and one sequence: what the lanes of a tile hold.
// No default values, and none in Sequence: a task's blocks are filled in, not cleared first.
struct QueryBlock {
  std::int64_t batch;
  std::int64_t head;
  std::int64_t begin;  // first query
  std::int64_t count;  // 1 to ForwardKernel::queries
  Sequence sequence;
};

// Blocks of one KV head that walk over its keys and values together: the unit of work. Eight blocks' states (24 kB each
// at a width of 64) leave most of an L2 cache to the keys that they share.
inline constexpr int kMaxBlocksPerTask = 8;
struct ForwardTask {
  QueryBlock blocks[kMaxBlocksPerTask];
  int count;
};

// The forward pass compiled for one target and compute type.
struct ForwardKernel {
  std::int64_t queries = 0;  // the most that a block may hold
  std::int64_t lanes = 0;    // queries in a vector
  std::size_t (*scratch_bytes)(const ForwardCall& call, int blocks_per_task) = nullptr;
  // Computes o and lse of a task's blocks. `scratch` is 64-byte aligned and belongs to this call alone. No bit of a
  // block's result depends on which other blocks the task holds.
  void (*run)(const ForwardCall& call, const ForwardTask& task, void* scratch) = nullptr;
};

// Whether a call is computed by bf16 pairs. Shapes and types alone decide, never the layout: any layout has the same
// bits.
bool computes_by_pairs(Target target, const AttentionInputs& inputs);

// Whether the rows of a bf16 view lie in whole 32-bit words, so that pairs can be read in place.
bool holds_pairs(const View<const void>& view);

// Constraint: `target` is one of available_targets(). f64 computes in double, everything else in float.
ForwardKernel forward_kernel(Target target, DType dtype);

}  // namespace qkv

#endif  // QKV_SRC_OPS_ATTENTION_FORWARD_H_
