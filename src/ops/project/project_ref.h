// A linear projection and its gradient in float64.
#ifndef QKV_SRC_OPS_PROJECT_PROJECT_REF_H_
#define QKV_SRC_OPS_PROJECT_PROJECT_REF_H_

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv::reference {

// Computes y = x w + b for every row of x.
//
// Shapes: x [..., C] of rank >= 1, w [C,E], b [E] or absent, any floating types; y f64 [..., E].
// Errors: kShapeMismatch. Numerics: sums in index order, b added last.
Result<Tensor> project_forward(View<const void> x, View<const void> w, View<const void> b);

struct ProjectGradients {
  Tensor dx;  // f64, shape of x
  Tensor dw;  // f64 [C,E]
  Tensor db;  // f64 [E]
};

// The gradient of L = Σ d_y ⊙ y:     dx = d_y wᵀ     dw = xᵀ d_y     db = Σ_rows d_y
//
// Shapes: x, w as project_forward, d_y as its result. Errors: kShapeMismatch.
Result<ProjectGradients> project_backward(View<const void> x, View<const void> w, View<const void> d_y);

}  // namespace qkv::reference

#endif  // QKV_SRC_OPS_PROJECT_PROJECT_REF_H_
