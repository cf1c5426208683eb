// Element by element, within a tolerance of the tensor's largest number.
#include "src/check/match.h"

#include <algorithm>
#include <cmath>

namespace qkv::check {

double match_tolerance(DType dtype, const Tensor& want) {
  const double largest = std::max(1e-3, largest_finite(want));
  switch (dtype) {
    case DType::kF64: return 1e-10 * largest;
    case DType::kBF16: return 3e-2 * largest;
    case DType::kF16: return 4e-3 * largest;
    default: return 3e-5 * largest;
  }
}

bool matches(const Tensor& got, const Tensor& want, double tolerance, double& error) {
  if (!(got.shape() == want.shape())) return false;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double a = element_as_double(got.view(), i);
    double b = element_as_double(want.view(), i);
    if (got.dtype() != DType::kF64) b = static_cast<double>(static_cast<float>(b));  // may overflow there
    if (std::isnan(a) != std::isnan(b)) return false;
    if (std::isnan(a) || a == b) continue;
    const double difference = std::fabs(a - b);
    if (!(difference <= tolerance)) return false;
    error = std::max(error, difference);
  }
  return true;
}

std::vector<GivenTensor> compared_tensors(const SubjectOutputs& outputs, const VariantResult& want, Compared compared) {
  std::vector<GivenTensor> given = given_tensors(outputs, want);
  if (compared == Compared::kForward)
    std::erase_if(given, [](const GivenTensor& one) { return !is_forward(one.name); });
  return given;
}

bool all_match(const SubjectOutputs& outputs, const VariantResult& variant, DType dtype, Compared compared) {
  double error = 0;
  return std::ranges::all_of(compared_tensors(outputs, variant, compared), [&](const GivenTensor& given) {
    return matches(*given.got, *given.want, match_tolerance(dtype, *given.want), error);
  });
}

}  // namespace qkv::check
