// The rules on a projection's tensors, once, for the reference and the fast path. All messages are made here.
#ifndef QKV_SRC_OPS_PROJECT_CHECK_PROJECT_H_
#define QKV_SRC_OPS_PROJECT_CHECK_PROJECT_H_

#include <cstdint>
#include <string_view>

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv {

struct ProjectShape {
  std::int64_t rows = 0, in = 0, out = 0;  // x [rows,in], w [in,out]
  Dims y;                                  // the shape of x with `out` for its last axis
};

// x [..., C] of rank >= 1, w [C,E], b [E] or absent, any floating types. Errors: kShapeMismatch.
Result<ProjectShape> check_project(View<const void> x, View<const void> w, View<const void> b);

// That d_y has the shape of y and a floating type. Errors: kShapeMismatch.
Status check_project_gradient(const ProjectShape& shape, View<const void> d_y);

// That an output has a shape, the compute type of x (f64 beside f64, else one of f32 bf16 f16), and memory of its own.
// Errors: kShapeMismatch.
Status check_project_output(std::string_view name, View<const void> output, const Dims& shape, View<const void> x);

}  // namespace qkv

#endif  // QKV_SRC_OPS_PROJECT_CHECK_PROJECT_H_
