// How much rounding alone changes: what is ill-conditioned cannot be held to a bound of well-conditioned numbers.
#ifndef QKV_SRC_CHECK_CONDITION_H_
#define QKV_SRC_CHECK_CONDITION_H_

#include <cstdint>
#include <span>

#include "src/check/generate.h"
#include "src/check/variant.h"

namespace qkv::check {

// Between q and a result lie about as many steps that each round: product, sum, scale, bias, the maximum's
// subtraction, exp, sum, division.
inline constexpr double kRoundedSteps = 8;

// The variant where q and the sinks are off by one rounding of the type that scores are computed in (f32; f64 for f64):
// up or down at random, but always the same for one `draw`. Errors: as compute_variant.
Result<VariantResult> nudged_variant(const Case& asked, std::span<const Mistake> mistakes, std::uint64_t draw = 0);

// The largest difference of two tensors of one shape where both are finite.
double largest_difference(const Tensor& a, const Tensor& b);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_CONDITION_H_
