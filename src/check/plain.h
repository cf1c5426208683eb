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
// bf16 and f16 the weights are rounded to that type before they meet v. Sums run from right to left: the reference's
// run from left to right, and so the distance of the two shows the rounding of both in f64, where the reference is no
// more exact than what it is compared with.
//
// Shapes, masks, errors: as attention_forward (which see). `output` is o's type.
// Cost: O(B Hq Tq Tk (D + Dv)) scalar operations on one thread.
Result<PlainResult> plain_attention_forward(const AttentionInputs& inputs, const AttentionOptions& options,
                                            DType output);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_PLAIN_H_
