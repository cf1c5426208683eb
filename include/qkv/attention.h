// Exact attention on a CPU, tiled, with the softmax computed online.
#ifndef QKV_ATTENTION_H_
#define QKV_ATTENTION_H_

#include <cstdint>

#include "qkv/options.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv {

struct AttentionInputs {
  View<const void> q;  // [B,Hq,Tq,D]
  View<const void> k;  // [B,Hkv,Tk,D]
  View<const void> v;  // [B,Hkv,Tk,Dv]
};

struct AttentionOutputs {
  View<void> o;    // [B,Hq,Tq,Dv]
  View<void> lse;  // [B,Hq,Tq], or absent
};

// What a call did.
struct Report {
  Target target = Target::kAuto;  // the one that ran
  int threads = 0;                // the most that worked on it
  std::int64_t tasks = 0;         // (batch, head, block of queries) units
  double flops =
      0;  // 2 (D + Dv) for every (query, key) pair inside the position limits; a mask tensor is not looked at
};

// Computes o = softmax(scale q kᵀ + ...) v for every batch and head, and lse on request.
//
//   s(i,j) = scale q_i·k_j, capped, biased (see AttentionOptions)     o_i = Σ_j exp(s(i,j) − lse_i) v_j
//   lse_i  = ln(Σ_allowed exp s(i,j) [+ exp sink_h])                   natural logarithm
//
// Shapes: q [B,Hq,Tq,D], k [B,Hkv,Tk,D], v [B,Hkv,Tk,Dv] of one type among f64 f32 bf16 f16; o [B,Hq,Tq,Dv] of the same
//   type, or f32 for bf16 and f16; lse [B,Hq,Tq] f32 (f64 for f64). Rank 4 always: for [B,T,H,D] in memory pass
//   swap_axes(view, 1, 2). Query head h reads KV head h / (Hq / Hkv).
// Constraints: Hq % Hkv == 0; D, Dv >= 1; B, H, T >= 0; strides >= 0 in elements, any last stride; o and lse overlap
//   neither each other nor an input.
// Errors: kShapeMismatch (a shape, type or overlap; the message quotes the line of the shape table that broke),
//   kInvalidArgument (an option out of its domain, a missing corner), kUnsupported (the target), kOutOfMemory,
//   kCancelled (o and lse are then partly written). On every other error nothing has been written.
// Numerics: f32 accumulation and softmax for f32 bf16 f16, f64 for f64; error against float64 at most twice that of the
// plain
//   same-type computation plus 4 ulp of max|v|. An empty row (no allowed key, no sink) gives o = 0, lse = −inf. What no
//   query may see is never read into a result; a NaN or Inf that is allowed reaches its own rows only.
// Cost: 2 (D + Dv) flops a visible pair; O(threads (D + Dv)) scratch, allocated once a call; the same bits for any
// thread count. Source: Vaswani et al. 2017 (arXiv:1706.03762); online softmax: Milakov and Gimelshein 2018
// (arXiv:1805.02867);
//   tiling: Dao et al. 2022 (arXiv:2205.14135).
Result<Report> attention_forward(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                                 const AttentionOptions& options = {}, const Execution& execution = {});

}  // namespace qkv

#endif  // QKV_ATTENTION_H_
