// How much rounding alone changes: what is ill-conditioned cannot be held to a bound of well-conditioned numbers.
#ifndef QKV_SRC_CHECK_CONDITION_H_
#define QKV_SRC_CHECK_CONDITION_H_

#include <vector>

#include "qkv/status.h"
#include "qkv/tensor.h"
#include "src/check/placed.h"

namespace qkv::check {

// Between q and a result lie about as many steps that each round: product, sum, scale, bias, the maximum's
// subtraction, exp, sum, division.
inline constexpr double kRoundedSteps = 8;

// q with every element moved by one rounding of the type that scores are computed in (f32; f64 for f64), up or down at
// random but always the same. As f64, with the strides of q, and its memory between the elements.
Result<Placed> nudged(const Placed& q);
// The same of sinks, which an f32 implementation holds in f32.
std::vector<double> nudged(const std::vector<double>& sinks, DType dtype);

// The largest difference of two tensors of one shape where both are finite.
double largest_difference(const Tensor& a, const Tensor& b);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_CONDITION_H_
