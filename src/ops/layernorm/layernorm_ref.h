// LayerNorm and its gradient in float64.
#ifndef QKV_SRC_OPS_LAYERNORM_LAYERNORM_REF_H_
#define QKV_SRC_OPS_LAYERNORM_LAYERNORM_REF_H_

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv::reference {

struct LayerNormParameters {
  View<const void> gamma, beta;  // [C] each; absent means 1 and 0
  double eps = 1e-5;
};

struct LayerNormResult {
  Tensor u;      // f64, shape of x
  Tensor mean;   // f64, shape of x without its last axis
  Tensor sigma;  // √(var + eps), as mean
};

// Brings every row of x to mean 0 and variance 1, then scales and shifts it.
//
//   u = (x − mean) / √(var + eps) · gamma + beta          mean = Σx / C     var = Σ(x − mean)² / C
//
// Shapes: x [..., C] of any rank >= 1 and any floating type.
// Constraints: C >= 1; eps finite, >= 0.
// Errors: kShapeMismatch; kInvalidArgument for a bad eps, and for eps = 0 with a row of variance 0, which is named.
// Numerics: the biased variance (1/C), two passes; a constant row has variance 0 exactly.
// Source: Ba, Kiros and Hinton 2016 (arXiv:1607.06450).
Result<LayerNormResult> layernorm_forward(View<const void> x, const LayerNormParameters& parameters);

struct LayerNormGradients {
  Tensor dx;             // f64, shape of x
  Tensor dgamma, dbeta;  // f64 [C], always
};

// The gradient of L = Σ d_u ⊙ u. With xhat = (x − mean) / sigma and g = d_u ⊙ gamma:
//
//   dx = (g − mean(g) − xhat · mean(g ⊙ xhat)) / sigma     dgamma = Σ_rows d_u ⊙ xhat     dbeta = Σ_rows d_u
//
// Shapes: d_u as x. Errors: as layernorm_forward. Invariant: every row of dx sums to 0.
Result<LayerNormGradients> layernorm_backward(View<const void> x, View<const void> d_u,
                                              const LayerNormParameters& parameters);

}  // namespace qkv::reference

#endif  // QKV_SRC_OPS_LAYERNORM_LAYERNORM_REF_H_
