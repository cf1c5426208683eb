// Exact attention on a CPU, tiled, with the softmax computed online.
#ifndef QKV_ATTENTION_H_
#define QKV_ATTENTION_H_

#include <cstddef>
#include <cstdint>

#include "qkv/options.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

#pragma GCC visibility push(default)
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
  std::int64_t tasks = 0;         // units of work that were handed out
  double flops = 0;  // of every (query, key) pair inside the position limits (a mask tensor is not looked at): 2 (D +
                     // Dv) forward and decode, 6 D + 4 Dv backward
  std::size_t scratch_bytes = 0;  // taken from the workspace
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
// Cost: 2 (D + Dv) flops a visible pair; O(threads (D + Dv)) scratch from the workspace, so a warm call allocates
// nothing; the same bits for any thread count. Source: Vaswani et al. 2017 (arXiv:1706.03762); online softmax: Milakov
// and Gimelshein 2018 (arXiv:1805.02867);
//   tiling: Dao et al. 2022 (arXiv:2205.14135).
Result<Report> attention_forward(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                                 const AttentionOptions& options = {}, const Execution& execution = {});

// What the backward pass reads: the forward's inputs and results, and the gradients that come from above.
struct AttentionBackwardInputs {
  View<const void> q, k, v;
  View<const void> o;      // [B,Hq,Tq,Dv]  as attention_forward wrote it, in its type
  View<const void> lse;    // [B,Hq,Tq]     the same
  View<const void> d_o;    // [B,Hq,Tq,Dv]  of o's type
  View<const void> d_lse;  // [B,Hq,Tq]     of lse's type, or absent
};

// What it writes; an absent one is not computed.
struct AttentionBackwardOutputs {
  View<void> dq, dk, dv;  // shapes of q, k, v; of their type, or f32 for bf16 and f16
  View<void> dbias;       // options.bias's own shape (summed over what was broadcast); its type, or f32 (f64 for f64)
  View<void> dsinks;      // [Hq] f32 (f64 for f64)
};

// Computes the gradient of L = Σ d_o ⊙ o + Σ d_lse ⊙ lse with respect to every input that is asked for.
//
//   dv = pᵀ do     dp = do vᵀ     ds = p ⊙ (dp − rowsum(do ⊙ o) + dlse)     dq = scale · ds' k     dk = scale · ds'ᵀ q
//   ds' = ds ⊙ (1 − tanh²(scaled / softcap)) where softcap is set, else ds
//   dbias = ds     dsink = −Σ p_sink ⊙ (rowsum(do ⊙ o) − dlse)
//
// Shapes: as above; the sums over a KV head's group of query heads are taken here. Any strides, as forward.
// Constraints: options are the forward's; outputs overlap neither each other nor an input.
// Errors: as attention_forward; dbias without a bias and dsinks without sinks are kInvalidArgument.
// Numerics: accumulated in f32 (f64 for f64) whatever the type; error at most three times that of the plain same-type
//   computation plus 8 ulp of the largest factor. An empty row has gradient 0. Pairs that no query may see are never
//   read into a result.
// Cost: 6 D + 4 Dv flops a visible pair; O(B H T D) scratch at most, nothing of size Tq·Tk; the same bits for any
//   thread count. Source: Dao et al. 2022 (arXiv:2205.14135), algorithm 4.
Result<Report> attention_backward(const AttentionBackwardInputs& inputs, const AttentionBackwardOutputs& outputs,
                                  const AttentionOptions& options = {}, const Execution& execution = {});

}  // namespace qkv
#pragma GCC visibility pop

#endif  // QKV_ATTENTION_H_
