// LayerNorm and its gradient, on every SIMD target.
#ifndef QKV_SRC_OPS_LAYERNORM_LAYERNORM_H_
#define QKV_SRC_OPS_LAYERNORM_LAYERNORM_H_

#include <cstddef>
#include <cstdint>

#include "qkv/attention.h"
#include "qkv/options.h"
#include "qkv/status.h"
#include "qkv/tensor.h"
#include "src/ops/layernorm/layernorm_kernel.h"

namespace qkv {

// Computes u = (x − mean) / √(var + eps) · gamma + beta for every row.
//
// Shapes: x, u [B,T,C] (a matrix is a batch of 1: [M,C] is taken too), gamma and beta [C] or absent (1 and 0); all f64,
//   or each its own of f32 bf16 f16. Any strides. u may be x itself, element for element.
// Errors: as reference::layernorm_forward for shapes and eps; kInvalidArgument (threads), kUnsupported (the target),
//   kOutOfMemory, kCancelled (u is then partly written).
// Numerics: f32 (f64 for f64); the mean is kept as two numbers, and the squares are summed about it in a pass of their
//   own: a large mean costs a small spread no digits. A constant row has variance 0 exactly; with eps = 0 it becomes
//   NaN, and no other row. Error at most twice that of the plain same-type computation.
// Cost: four passes over a row in L1; the same bits for any thread count; a warm call allocates nothing.
// Source: Ba, Kiros and Hinton 2016 (arXiv:1607.06450).
Result<Report> layernorm_forward(View<const void> x, const LayerNormWeights& weights, View<void> u,
                                 const Execution& execution = {});

// Gradients to write; an absent one is not computed.
struct LayerNormGradientViews {
  View<void> dx;             // as x
  View<void> dgamma, dbeta;  // [C]
};

// Computes the gradient of L = Σ d_u ⊙ u; mean and variance are taken again. See reference::layernorm_backward.
//
// Shapes, errors: as layernorm_forward. Numerics: dgamma and dbeta are summed in a fixed number of runs of rows.
Result<Report> layernorm_backward(View<const void> x, View<const void> d_u, const LayerNormWeights& weights,
                                  const LayerNormGradientViews& gradients, const Execution& execution = {});

// The two as parts of something larger: everything checked, threads and scratch from the caller.
class LayerNormPlan {
 public:
  // Forward. Constraint: x and u are [B,T,C].
  LayerNormPlan(View<const void> x, const LayerNormWeights& weights, View<void> u, Target target);
  // Backward. Constraint: x, d_u and dx are [B,T,C].
  LayerNormPlan(View<const void> x, View<const void> d_u, const LayerNormWeights& weights,
                const LayerNormGradientViews& gradients, Target target);

  int threads(int available) const;
  std::size_t scratch_bytes(int threads) const;
  std::int64_t tasks() const;
  double flops() const;
  // `scratch`: 64-byte aligned. Returns false if execution.progress stopped it. Allocates nothing.
  bool run(char* scratch, int threads, const Execution& execution) const;

 private:
  LayerNormCall call_;
  View<void> dgamma_, dbeta_;
  LayerNormKernel kernel_;
  std::int64_t rows_ = 0;
};

}  // namespace qkv

#endif  // QKV_SRC_OPS_LAYERNORM_LAYERNORM_H_
