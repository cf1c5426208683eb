// Attention with mistakes, in float64: what an implementation that makes them would give.
#ifndef QKV_SRC_CHECK_VARIANT_H_
#define QKV_SRC_CHECK_VARIANT_H_

#include <span>

#include "qkv/attention.h"
#include "src/check/generate.h"
#include "src/check/mistake.h"

namespace qkv::check {

// Every output in f64; gradients are absent without d_o, dbias without a bias, dsinks without sinks.
struct VariantResult {
  Tensor o, lse;
  Tensor dq, dk, dv, dbias, dsinks;
  Tensor cache_k, cache_v;  // of a decode: the cache after it
  LayerOutputs layer;       // of a layer or a layernorm, which has none of the others
};

// Computes what docs/semantics.md defines, but for `mistakes`, all of them at once. Without any it is the reference
// (which a test holds it to), with every pair materialised.
//
// Shapes, errors: as reference::attention_forward; d_o and d_lse as reference::attention_backward, or absent.
// Numerics: f64, except where a mistake is about rounding (an overflow of exp in f32, a fill value added in f32).
// Cost: O(B Hq Tq Tk (D + Dv)) scalar operations, O(Tq Tk) memory a head. For probes, which are small.
Result<VariantResult> compute_variant(const AttentionInputs& inputs, const AttentionOptions& options,
                                      View<const void> d_o, View<const void> d_lse, std::span<const Mistake> mistakes);

// The same of a case and its operation, with d_o, d_lse and d_y where it has them.
Result<VariantResult> compute_variant(const Case& asked, std::span<const Mistake> mistakes);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_VARIANT_H_
