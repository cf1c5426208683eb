// How far from float64 the results of a layer or a layernorm may be.
#ifndef QKV_SRC_CHECK_LAYER_BOUNDS_H_
#define QKV_SRC_CHECK_LAYER_BOUNDS_H_

#include <vector>

#include "src/check/bounds.h"
#include "src/check/generate.h"

namespace qkv::check {

struct NamedBound {
  const char* name;
  Bound bound;
};

// forward_bound() of y and gradient_bound() of each gradient, from the largest error of the plain computation in
// the type of x against float64 without mistakes, in a few draws. Errors: as compute_layer_variant.
Result<std::vector<NamedBound>> layer_bounds(const Case& asked);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LAYER_BOUNDS_H_
