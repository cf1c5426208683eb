// What the parts of attention_decode hand to each other: the call, a chunk of keys, the kernel of a target. No SIMD
// here.
#ifndef QKV_SRC_OPS_ATTENTION_DECODE_H_
#define QKV_SRC_OPS_ATTENTION_DECODE_H_

#include <cstddef>
#include <cstdint>

#include "qkv/decode.h"
#include "src/core/check_attention.h"
#include "src/core/page_table.h"
#include "src/core/positions.h"

namespace qkv {

// Everything that is the same for all tasks of one call. Checked; read-only.
struct DecodeCall {
  AttentionShape shape;   // Tq is t, Tk what the cache can hold
  View<const void> q;     // [B,Hq,t,D]
  View<const void> k, v;  // the cache's
  PageTable pages;
  AttentionOutputs outputs;
  const AttentionOptions& options;
  const Positions& positions;
  double scale = 1;
  View<const void> keep;  // broadcast to [B,Hq,t,Tk]; absent if there is none
  View<const void> bias;  // the same
};

// Rows are the queries of one KV head: row r is query r / G of query head  kv_head · G + r % G. K and V are read once
// for all rows of a task.
inline constexpr std::int64_t kMostRows = 32;

// Some rows against a chunk of the keys that their sequence may see: the unit of work.
struct DecodeTask {
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::int64_t group = 0;  // tasks of the same rows have the same number
  std::int64_t chunk = 0;  // of the keys
  std::int64_t row_begin = 0;
  std::int64_t row_count = 0;  // 1 to kMostRows
  KeyRange keys;               // may be empty
  KeyRange next_keys;          // of the chunk behind this one, whose first rows are asked for early; may be empty
  Sequence sequence;           // t queries and the tokens so far
};

// The parts of all chunks of the same rows, in order; consecutive parts are DecodeKernel::part_bytes apart.
struct DecodeParts {
  char* first = nullptr;
  std::int64_t count = 0;
};

// The decode step compiled for one target and compute type.
struct DecodeKernel {
  std::size_t (*part_bytes)(const AttentionShape& shape) = nullptr;
  std::size_t (*scratch_bytes)(const DecodeCall& call) = nullptr;  // a worker's, a part not included
  // Computes the rows' softmax over the task's keys into `part`. `scratch` and `part` are 64-byte aligned.
  void (*run)(const DecodeCall& call, const DecodeTask& task, void* scratch, void* part) = nullptr;
  // Merges the parts into the first and writes o and lse of the task's rows.
  void (*finish)(const DecodeCall& call, const DecodeTask& task, const DecodeParts& parts, void* scratch) = nullptr;
};

// Constraint: `target` is one of available_targets(). f64 computes in double, everything else in float.
DecodeKernel decode_kernel(Target target, DType dtype);

}  // namespace qkv

#endif  // QKV_SRC_OPS_ATTENTION_DECODE_H_
