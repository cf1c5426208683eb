// The one comparator: what was computed against float64, under a bound.
#ifndef QKV_SRC_CHECK_COMPARE_H_
#define QKV_SRC_CHECK_COMPARE_H_

#include <cstdint>
#include <limits>
#include <string>

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv::check {

// How far an element may be from what is wanted: min(absolute, relative (1 + |want|)).
struct Bound {
  double absolute = 0;
  double relative = std::numeric_limits<double>::infinity();
  double at(double want) const;
};

// The verdict and the element that decides it.
//
// An element fails if |got − want| is above the bound or no number. Infinities must be equal with their sign; NaN
// passes where NaN is wanted and nowhere else; a zero's sign does not matter. The worst element is the one furthest
// above its bound (a wrong NaN or infinity is further than any number).
struct Comparison {
  bool passed = true;
  std::int64_t count = 0, failed = 0;
  double largest_error = 0;  // over all elements; infinite for a wrong NaN or infinity

  Dims worst;  // its index; rank 0 while there are no elements
  double got = 0, want = 0, error = 0, bound = 0;
};

// The largest |x| that is finite; 0 if none is. Constraint: the tensor is contiguous.
double largest_finite(const Tensor& tensor);

// Errors: kShapeMismatch if the shapes differ or a type is not floating.
Result<Comparison> compare(View<const void> got, View<const void> want, const Bound& bound);

// "3 of 24 wrong; worst [0,1,2,0]: got 0.5, want 0.25, error 0.25 > 1e-06".
std::string to_string(const Comparison& comparison);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_COMPARE_H_
