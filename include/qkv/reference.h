// The float64 reference: plain loops, every intermediate kept on request. It is what everything else is held to.
#ifndef QKV_REFERENCE_H_
#define QKV_REFERENCE_H_

#include <string>
#include <string_view>
#include <vector>

#include "qkv/attention.h"
#include "qkv/layer.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

#pragma GCC visibility push(default)
namespace qkv {

// One intermediate tensor of a computation and how it was made.
struct Stage {
  std::string name;     // snake case, unique in a trace: "x" "u" "q" "raw" "scaled" "masked" "p" "lse" "o" "dq"
  std::string formula;  // "scale · raw"
  std::vector<std::string> dims;  // the shape's letters: "B" "Hq" "Tq" "Tk"
  std::vector<std::string> from;  // names of the stages that it was made from
  Tensor values;                  // f64, contiguous
};

// The stages of one computation in the order in which they were made.
struct Trace {
  std::vector<Stage> stages;
  const Stage* find(std::string_view name) const;  // null if there is none
};

namespace reference {

struct AttentionResult {
  Tensor o;    // f64 [B,Hq,Tq,Dv]
  Tensor lse;  // f64 [B,Hq,Tq]
};

// Computes attention as docs/semantics.md defines it, in float64 whatever the type of the inputs.
//
// Shapes, errors: as qkv::attention_forward (which see), except that inputs may have different floating types.
// Trace: q k v, raw (q·k), scaled, capped (softcap only), biased (bias or slopes only), masked (−inf where not
//   allowed), p, lse, o; every one f64, k and v with Hkv heads. The stages before masked show every pair, seen or not.
// Numerics: sums in index order, the maximum subtracted; masked entries are skipped, so what may not be seen is never
//   read into a result. A score that comes out as −inf has weight 0, like a masked one.
// Cost: O(B Hq Tq Tk (D + Dv)) scalar operations, O(B Hq Tq Tk) memory with a trace and O(Tk) without. `progress` is
//   told of every row; kCancelled, and nothing in `trace`, if it says to stop.
Result<AttentionResult> attention_forward(const AttentionInputs& inputs, const AttentionOptions& options = {},
                                          Trace* trace = nullptr, const Progress& progress = {});

struct AttentionGradients {
  Tensor dq, dk, dv;  // f64, shapes of q, k, v
  Tensor dbias;       // shape of bias (summed over its broadcast axes); absent without bias
  Tensor dsinks;      // [Hq]; absent without sinks
};

// The gradient of L = Σ d_o ⊙ o + Σ d_lse ⊙ lse with respect to every input.
//
//   dv = pᵀ do     dp = do vᵀ     ds = p ⊙ (dp − rowsum(do ⊙ o) + dlse)     dq = scale · ds' k     dk = scale · ds'ᵀ q
//   ds' = ds ⊙ (1 − tanh²(scaled / softcap)) where softcap is set, else ds
//   dsink = −Σ p_sink ⊙ (rowsum(do ⊙ o) − dlse)
//
// Shapes: d_o [B,Hq,Tq,Dv]; d_lse [B,Hq,Tq] or absent; the gradients as their tensors, grouped heads summed.
// Trace: the forward's stages, then do, dlse (if given), dp, delta, ds, dq, dk, dv, dbias, dsinks.
// Invariant: without sinks and d_lse every row of ds sums to 0. An empty row has gradient 0.
Result<AttentionGradients> attention_backward(const AttentionInputs& inputs, View<const void> d_o,
                                              View<const void> d_lse = {}, const AttentionOptions& options = {},
                                              Trace* trace = nullptr);

// One attention layer: u = norm(x); q k v = u w + b; heads; attention; merge; o wo + bo.
//
// Shapes: x [B,T,C]; result [B,T,Cout] (or [B,T,Hq·Dv] without wo). Weights: see LayerParameters.
// Errors: kShapeMismatch with the line of the shape table that broke; kInvalidArgument for a parameter that is missing
//   or contradicts another, and for eps = 0 with a row of x whose variance is 0.
// Trace: x, the parameters that are present (wqkv as wq wk wv), mean, sigma, u, q, k, v ([B,H,T,D]), the stages of
//   attention, merged, y (only with wo). mean and sigma are absent without a norm.
Result<Tensor> layer_forward(View<const void> x, const LayerParameters& parameters, const LayerOptions& options,
                             Trace* trace = nullptr);

struct LayerGradients {
  Tensor dx;
  Tensor dgamma, dbeta;
  Tensor dwq, dwk, dwv, dbq, dbk, dbv;  // also for a fused matrix, split into its parts
  Tensor dwo, dbo;
};

// The gradient of L = Σ d_y ⊙ y with respect to x and every parameter that is present (the others' tensors are absent).
// Shapes: d_y as layer_forward's result.
// Trace: the forward's stages, then dy, dmerged, do, ..., dq, dk, dv, du, dx, dgamma, ..., dwo, dbo.
Result<LayerGradients> layer_backward(View<const void> x, const LayerParameters& parameters, View<const void> d_y,
                                      const LayerOptions& options, Trace* trace = nullptr);

}  // namespace reference
}  // namespace qkv
#pragma GCC visibility pop

#endif  // QKV_REFERENCE_H_
