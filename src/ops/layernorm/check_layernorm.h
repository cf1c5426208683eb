// The rules on LayerNorm's tensors, once, for the reference and the fast path. All messages are made here.
#ifndef QKV_SRC_OPS_LAYERNORM_CHECK_LAYERNORM_H_
#define QKV_SRC_OPS_LAYERNORM_CHECK_LAYERNORM_H_

#include "qkv/status.h"
#include "qkv/tensor.h"
#include "src/ops/layernorm/layernorm_kernel.h"

namespace qkv {

// x [..., C] of rank >= 1 with C >= 1, gamma and beta [C] or absent, any floating types; eps finite and not negative.
Status check_layernorm(View<const void> x, const LayerNormWeights& weights);

// That d_u has the shape of x and a floating type.
Status check_layernorm_gradient(View<const void> x, View<const void> d_u);

}  // namespace qkv

#endif  // QKV_SRC_OPS_LAYERNORM_CHECK_LAYERNORM_H_
