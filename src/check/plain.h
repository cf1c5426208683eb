// What anybody would write first, in the type of the tensors: its error is the yardstick for a kernel's.
#ifndef QKV_SRC_CHECK_PLAIN_H_
#define QKV_SRC_CHECK_PLAIN_H_

#include "qkv/attention.h"

namespace qkv::check {

struct PlainResult {
  Tensor o;                  // [B,Hq,Tq,Dv] of the output type
  Tensor lse;                // [B,Hq,Tq] f32, f64 for f64
  double largest_value = 0;  // |v| over the finite entries that some query sees
};

// Softmax over a materialised row of scores with an exact exponential, rounded to f32 (f64 for f64) at each step; for
// bf16 and f16 the weights are rounded to that type before they meet v. Sums run from right to left, the reference's
// from left to right: in f64 the two round differently.
//
// Shapes, masks, errors: as attention_forward (which see). `output` is o's type.
// Cost: O(B Hq Tq Tk (D + Dv)) scalar operations on one thread.
Result<PlainResult> plain_attention_forward(const AttentionInputs& inputs, const AttentionOptions& options,
                                            DType output);

// The same of f64 tensors in long double, rounded to f64 at the end: what the float64 reference's own error is measured
// against. Where long double is no wider than double the two errors that it is for come out smaller, never larger.
// Errors, cost: as above, some three times slower.
Result<PlainResult> extended_attention_forward(const AttentionInputs& inputs, const AttentionOptions& options);

struct PlainGradients {
  Tensor dq, dk, dv;  // of the output type
  Tensor dbias;       // of the bias's type; absent without bias
  Tensor dsinks;      // f32, f64 for f64; absent without sinks
  // The largest finite numbers that were multiplied, over the pairs that are seen: |scale · k| and |scale · q|, |do|,
  // |dp − delta + dlse| or a part of it. Of dbias and dsinks, whose terms may cancel, the largest sum of their sizes
  // too.
  double largest_key = 0, largest_query = 0, largest_output = 0, largest_score = 0, largest_bias = 0, largest_sink = 0;
};

// The gradient in the same manner: weights as above, delta from the o that was rounded to its type; for bf16 and f16
// the weights and the gradient of the scores are rounded to that type before they meet do, q and k.
//
// Shapes, masks, errors: as attention_backward (which see). `output` is the type of o and of dq, dk and dv.
// Cost: O(B Hq Tq Tk (D + Dv)) scalar operations on one thread.
Result<PlainGradients> plain_attention_backward(const AttentionInputs& inputs, View<const void> d_o,
                                                View<const void> d_lse, const AttentionOptions& options, DType output);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_PLAIN_H_
