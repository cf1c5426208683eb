// The parts of a layer as anybody would write them first, in the type of the tensors: their error is the yardstick.
#ifndef QKV_SRC_CHECK_PLAIN_LAYER_H_
#define QKV_SRC_CHECK_PLAIN_LAYER_H_

#include "qkv/layer.h"
#include "qkv/reference.h"
#include "src/ops/layernorm/layernorm_ref.h"
#include "src/ops/project/project_ref.h"

namespace qkv::check {

// Every function computes in f32 (f64 for f64), one rounding an operation, and rounds its results to `output`. Sums run
// from the last term to the first; the reference's run the other way (see plain.h).
// Shapes, errors: as the reference's function of the same name.

Result<Tensor> plain_project_forward(View<const void> x, View<const void> w, View<const void> b, DType output);
Result<reference::ProjectGradients> plain_project_backward(View<const void> x, View<const void> w, View<const void> d_y,
                                                           DType output);

Result<Tensor> plain_layernorm_forward(View<const void> x, const reference::LayerNormParameters& parameters,
                                       DType output);
Result<reference::LayerNormGradients> plain_layernorm_backward(View<const void> x, View<const void> d_u,
                                                               const reference::LayerNormParameters& parameters,
                                                               DType output);

// Norm, projections and attention one after the other, each of whose results is rounded to the type of x.
Result<Tensor> plain_layer_forward(View<const void> x, const LayerParameters& parameters, const LayerOptions& options);
Result<reference::LayerGradients> plain_layer_backward(View<const void> x, const LayerParameters& parameters,
                                                       View<const void> d_y, const LayerOptions& options);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_PLAIN_LAYER_H_
