// LayerNorm with mistakes, in float64.
#ifndef QKV_SRC_CHECK_VARIANT_NORM_H_
#define QKV_SRC_CHECK_VARIANT_NORM_H_

#include "src/check/mistake_set.h"
#include "src/ops/layernorm/layernorm_ref.h"

namespace qkv::check {

// Shapes: as reference::layernorm_forward, x [B,T,C]. Constraint: check_layernorm() would accept the arguments.
// Numerics: f64, but for the sums of a variance in one pass, which are f32.
Result<Tensor> norm_variant_forward(View<const void> x, const reference::LayerNormParameters& parameters,
                                    const MistakeSet& mistakes);
Result<reference::LayerNormGradients> norm_variant_backward(View<const void> x, View<const void> d_u,
                                                            const reference::LayerNormParameters& parameters,
                                                            const MistakeSet& mistakes);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_VARIANT_NORM_H_
