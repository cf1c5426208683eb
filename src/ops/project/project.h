// A linear projection and its gradient, on every SIMD target.
#ifndef QKV_SRC_OPS_PROJECT_PROJECT_H_
#define QKV_SRC_OPS_PROJECT_PROJECT_H_

#include "qkv/attention.h"
#include "qkv/options.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv {

struct ProjectInputs {
  View<const void> x;  // [M,C]
  View<const void> w;  // [C,E]
  View<const void> b;  // [E], or absent
};

// Computes y = x w + b.
//
// Shapes: x [M,C], w [C,E], b [E] or absent, y [M,E]; all f64, or each its own of f32 bf16 f16. Any strides: rows that
//   are contiguous are read in place, everything else is packed on the way.
// Errors: kShapeMismatch (a shape, type or overlap), kInvalidArgument (threads), kUnsupported (the target),
//   kOutOfMemory, kCancelled (y is then partly written).
// Numerics: accumulated in f32 (f64 for f64) in index order, b added last; error at most twice that of the plain
//   same-type computation.
// Cost: 2 M C E flops; scratch of 1.5 MB a thread; the same bits for any thread count.
// Source: Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication".
Result<Report> project_forward(const ProjectInputs& inputs, View<void> y, const Execution& execution = {});

// Gradients to write; an absent one is not computed.
struct ProjectGradientViews {
  View<void> dx;  // [M,C]
  View<void> dw;  // [C,E]
  View<void> db;  // [E]
};

// Computes the gradient of L = Σ d_y ⊙ y:     dx = d_y wᵀ     dw = xᵀ d_y     db = Σ_rows d_y
//
// Shapes, errors, numerics: as project_forward; d_y as y. `inputs.b` is not read.
Result<Report> project_backward(const ProjectInputs& inputs, View<const void> d_y,
                                const ProjectGradientViews& gradients, const Execution& execution = {});

}  // namespace qkv

#endif  // QKV_SRC_OPS_PROJECT_PROJECT_H_
