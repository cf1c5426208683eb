// Whether what came is what a variant gives.
#ifndef QKV_SRC_CHECK_MATCH_H_
#define QKV_SRC_CHECK_MATCH_H_

#include <cstdint>
#include <vector>

#include "src/check/evidence.h"

namespace qkv::check {

// How near a variant must be: the type's rounding, with room for the order of sums, relative to the largest number.
double match_tolerance(DType dtype, const Tensor& want);

// Whether got is the variant's tensor within the tolerance: NaN where it has NaN, infinities equal. The largest
// difference of finite numbers is added to `error`.
bool matches(const Tensor& got, const Tensor& want, double tolerance, double& error);

enum class Compared : std::uint8_t { kAll, kForward };  // kForward: o and lse, no gradient

// The tensors that were given, beside the variant's; of a forward pass without gradients.
std::vector<GivenTensor> compared_tensors(const SubjectOutputs& outputs, const VariantResult& want, Compared compared);

// Whether every given tensor is the variant's within match_tolerance().
bool all_match(const SubjectOutputs& outputs, const VariantResult& variant, DType dtype,
               Compared compared = Compared::kAll);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_MATCH_H_
