// A layer or a layernorm with mistakes, in float64.
#ifndef QKV_SRC_CHECK_VARIANT_LAYER_H_
#define QKV_SRC_CHECK_VARIANT_LAYER_H_

#include <span>

#include "qkv/layer.h"
#include "src/check/layer_tensors.h"
#include "src/check/mistake.h"

namespace qkv::check {

// Norm, projections, attention as compute_variant() has it, output projection, with all of `mistakes` at once; of a
// layernorm the norm alone. Without any it is the reference. Shapes, errors: as reference::layer_forward and
// reference::layer_backward.
Result<LayerOutputs> compute_layer_variant(const LayerGiven& given, std::span<const Mistake> mistakes);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_VARIANT_LAYER_H_
