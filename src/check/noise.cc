// Root mean squares of errors, and the factor of an output.
#include "src/check/noise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

// Of the differences that are finite.
double root_mean_square(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double difference = element_as_double(a.view(), i) - element_as_double(b.view(), i);
    if (std::isfinite(difference)) sum += difference * difference;
  }
  return std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(1, a.size())));
}

// Whether errors look like rounding: most elements are off, to either side.
bool is_like_noise(const Tensor& got, const Tensor& want, double root_mean_square) {
  constexpr double kShare = 0.5;
  std::int64_t off = 0;
  double sum = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double difference = element_as_double(got.view(), i) - element_as_double(want.view(), i);
    if (!std::isfinite(difference)) continue;
    if (std::fabs(difference) > root_mean_square / 10) ++off;
    sum += difference;
  }
  const auto count = static_cast<double>(got.size());
  return static_cast<double>(off) >= kShare * count && std::fabs(sum) <= kShare * count * root_mean_square;
}

// Whether the median lies between 1/3 and 3.
bool is_near_one(std::vector<double>& ratios) {
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::ranges::nth_element(ratios, middle);
  return *middle > 1.0 / 3 && *middle < 3;
}

}  // namespace

bool is_noise(const Mistake& mistake) {
  return mistake.id == MistakeId::kAccumulateF16 || mistake.id == MistakeId::kNormOnePass;
}

Result<bool> has_noise_of(const Mistake& mistake, std::span<const Evidence* const> failing,
                          std::span<const Mistake> accepted) {
  std::vector<Mistake> mistakes(accepted.begin(), accepted.end());
  mistakes.push_back(mistake);
  constexpr std::int64_t kLeastTelling = 24;               // elements; of fewer the signs may fall to one side
  std::map<std::string_view, std::vector<double>> ratios;  // of each tensor, probe by probe
  int like = 0, unlike = 0;
  for (const Evidence* one : failing) {
    const Case& asked = one->asked;
    QKV_ASSIGN_OR_RETURN(const VariantResult variant, compute_variant(asked, mistakes));
    const std::vector<GivenTensor> given = given_tensors(one->answer.outputs, variant);
    const std::vector<GivenTensor> wanted = given_tensors(one->answer.outputs, one->want);
    for (std::size_t at = 0; at < given.size(); ++at) {
      if (!is_forward(given[at].name)) continue;
      QKV_ASSIGN_OR_RETURN(const Tensor rounded, converted(given[at].want->view(), given[at].got->dtype()));
      const double noise = root_mean_square(rounded, *wanted[at].want);
      const double found = root_mean_square(*given[at].got, *wanted[at].want);
      if (noise > 0) ratios[given[at].name].push_back(found / noise);
      if (given[at].got->size() >= kLeastTelling)
        ++(is_like_noise(*given[at].got, *wanted[at].want, found) ? like : unlike);
    }
  }
  if (unlike > like) return false;
  return !ratios.empty() && std::ranges::all_of(ratios, [](auto& of_tensor) { return is_near_one(of_tensor.second); });
}

double output_factor(std::span<const Evidence* const> failing) {
  double product = 0;
  double square = 0;
  std::int64_t count = 0;
  for (const Evidence* one : failing) {
    const Tensor& given = main_output(one->answer.outputs);
    const Tensor& wanted = main_output(one->want);
    if (!given.is_present() || !(given.shape() == wanted.shape())) continue;
    for (std::int64_t i = 0; i < given.size(); ++i) {
      const double want = element_as_double(wanted.view(), i);
      const double got = element_as_double(given.view(), i);
      if (!std::isfinite(got * want)) return 1;
      product += got * want;
      square += want * want;
      ++count;
    }
  }
  return square == 0 || count < 2 ? 1 : product / square;
}

}  // namespace qkv::check
