// The steps of a layer around attention, shared by the forward and the backward reference.
#ifndef QKV_SRC_LAYER_LAYER_REF_STEPS_H_
#define QKV_SRC_LAYER_LAYER_REF_STEPS_H_

#include "qkv/layer.h"
#include "qkv/reference.h"
#include "src/core/check_layer.h"

namespace qkv::reference {

// What attention is given, and what it was made from; every tensor f64.
struct ProjectedHeads {
  Tensor mean, sigma;  // [B,T]; absent without a norm
  Tensor u;            // [B,T,C]
  Tensor q;            // [B,T,Hq·D]
  Tensor k;            // [B,T,Hkv·D]
  Tensor v;            // [B,T,Hkv·Dv]

  // q, k, v split into heads, by strides. Valid while this object stays where it is.
  AttentionInputs heads(const LayerShape& shape) const;
};

// u = norm(x), then the three projections. `parameters` are separated().
// Errors: kInvalidArgument for eps = 0 and a constant row; kOutOfMemory.
Result<ProjectedHeads> project_heads(View<const void> x, const LayerParameters& parameters,
                                     const LayerOptions& options);

// [B,T,H·D] seen as [B,H,T,D]; the last axis is split, nothing moves. Constraint: `heads` divides the width.
View<const void> split_heads(const Tensor& merged, std::int64_t heads);

// [B,H,T,D] copied to [B,T,H·D].
Result<Tensor> merge_heads(const Tensor& split);

}  // namespace qkv::reference

#endif  // QKV_SRC_LAYER_LAYER_REF_STEPS_H_
