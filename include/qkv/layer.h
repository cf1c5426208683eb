// One attention layer: LayerNorm, projections, heads, output projection; forward, backward, decode.
#ifndef QKV_LAYER_H_
#define QKV_LAYER_H_

#include <cstdint>

#include "qkv/attention.h"
#include "qkv/decode.h"
#include "qkv/options.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

#pragma GCC visibility push(default)
namespace qkv {

enum class Norm : std::uint8_t {
  kNone,       // u = x
  kLayerNorm,  // u = (x − mean) / √(var + eps) · gamma + beta, biased variance, two passes
};

// Shapes: gamma beta [C]; wq [C,Hq·D] wk [C,Hkv·D] wv [C,Hkv·Dv]; bq bk bv as wide as their matrix;
//         or one fused wqkv [C,(Hq+2·Hkv)·D] with bqkv, columns in the order q k v (then Dv = D);
//         wo [Hq·Dv,Cout], bo [Cout].
// Absent: gamma means 1, beta and every bias 0, wo no output projection (the merged heads are the output).
struct LayerParameters {
  View<const void> gamma, beta;
  View<const void> wq, wk, wv;
  View<const void> bq, bk, bv;
  View<const void> wqkv, bqkv;  // instead of the six above
  View<const void> wo, bo;
};

struct LayerOptions {
  std::int64_t query_heads = 1;  // Hq
  std::int64_t kv_heads = 0;     // Hkv; 0 means Hq
  Norm norm = Norm::kLayerNorm;
  double eps = 1e-5;  // >= 0; 0 is legal as long as no row of x is constant
  AttentionOptions attention;
};

// What layer_forward can leave for layer_backward, in the caller's memory; without it the backward pass computes the
// same again. Shapes, all contiguous:
//   qkv [B,T,Hq·D + Hkv·D + Hkv·Dv]  q, k and v beside each other, of x's type
//   o   [B,T,Hq·Dv]                  the merged heads, f32 (f64 for f64); without wo y is what they are: leave o absent
//                                    forward, and give y backward
//   lse [B,Hq,T]                     f32 (f64 for f64)
struct LayerKept {
  View<void> qkv, o, lse;
};

// Computes y = merge(attention(split(u wq + bq), split(u wk + bk), split(u wv + bv))) wo + bo with u = norm(x).
//
// Shapes: x [B,T,C]; y [B,T,Cout], or [B,T,Hq·Dv] without wo. One type among f64 f32 bf16 f16 for x, y and parameters
//   (gamma and beta may be f32 beside a half type).
// Errors: as reference::layer_forward (kShapeMismatch with the line of the shape table that broke, kInvalidArgument for
//   a parameter that is missing or contradicts another) and as attention_forward.
// Numerics: accumulated in f32 (f64 for f64); every projection's error is at most twice the plain same-type one's.
//   eps = 0 with a constant row of x gives that token NaN, which reaches the rows that may see it, and no other row.
// `kept`: present views are filled for layer_backward.
// Cost: 2 B T C (Hq D + Hkv (D + Dv)) + 2 B T Hq Dv Cout flops beside attention's; O(B T (C + H D)) scratch.
// Source: Vaswani et al. 2017 (arXiv:1706.03762); LayerNorm: Ba, Kiros and Hinton 2016 (arXiv:1607.06450).
Result<Report> layer_forward(View<const void> x, const LayerParameters& parameters, View<void> y,
                             const LayerOptions& options, const Execution& execution = {}, const LayerKept& kept = {});

// Gradients to write; an absent one is not computed. Shapes and types of what they are the gradient of (f32 is allowed
// beside a half type); dwqkv and dbqkv belong to the fused parameters, dwq ... dbv to the separate ones.
struct LayerGradientViews {
  View<void> dx;
  View<void> dgamma, dbeta;
  View<void> dwq, dwk, dwv, dbq, dbk, dbv;
  View<void> dwqkv, dbqkv;
  View<void> dwo, dbo;
};

// Computes the gradient of L = Σ d_y ⊙ y.
// Shapes: d_y as y. `kept` is all there, as layer_forward filled it for the same arguments, or absent: then q, k, v, o
//   and lse are computed again. Errors, numerics: as layer_forward and attention_backward.
// Cost: twice the flops of the projections and attention's gradient, and without `kept` the forward's beside them.
//   The same bits for any thread count, and with `kept` or without.
Result<Report> layer_backward(View<const void> x, const LayerParameters& parameters, View<const void> d_y,
                              const LayerGradientViews& gradients, const LayerOptions& options,
                              const Execution& execution = {}, const LayerKept& kept = {});

// The layer on t new tokens x [B,t,C] after those in the cache, which takes in their k and v; see attention_decode.
// Equals the last t rows of layer_forward with the causal flag on the whole sequence, within the bound.
// Errors: as layer_forward and attention_decode. On an error neither cache nor y has changed; after kCancelled the
//   lengths say whether the cache has taken the tokens in.
Result<Report> layer_decode(View<const void> x, const LayerParameters& parameters, const KeyValueCache& cache,
                            View<void> y, const LayerOptions& options, const Execution& execution = {});

}  // namespace qkv
#pragma GCC visibility pop

#endif  // QKV_LAYER_H_
