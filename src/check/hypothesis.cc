// The variant beside the answer, with room for rounding.
#include "src/check/hypothesis.h"

#include <algorithm>
#include <string_view>

#include "src/check/condition.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

// A wrong answer is rounded as a right one is: what may be forgiven there is forgiven here too.
double tolerance_of(const Evidence& one, const GivenTensor& given) {
  const auto judged = std::ranges::find(one.tensors, std::string_view(given.name), &TensorVerdict::name);
  const double rounding = judged == one.tensors.end() ? 0 : judged->bound.absolute;
  return std::max(match_tolerance(one.asked.problem.dtype, *given.want), rounding);
}

}  // namespace

Result<std::optional<Distance>> distance_of(const Evidence& one, const Hypothesis& hypothesis,
                                            std::span<const Mistake> accepted, Compared compared) {
  constexpr double kHopeless = 1e5;  // no rounding explains so many tolerances
  const std::vector<Mistake> mistakes = with_mistakes(accepted, hypothesis);
  QKV_ASSIGN_OR_RETURN(const VariantResult variant, compute_variant(one.asked, mistakes));
  const std::vector<GivenTensor> given = compared_tensors(one.answer.outputs, variant, compared);
  Distance distance;
  const auto all_within = [&](const auto& tolerance) {
    distance = {};
    for (std::size_t at = 0; at < given.size(); ++at) {
      double error = 0;
      const double most = tolerance(at);
      if (!matches(*given[at].got, *given[at].want, most, error)) return false;
      distance.error = std::max(distance.error, error);
      distance.of_tolerance = std::max(distance.of_tolerance, error / most);
    }
    return true;
  };
  if (all_within([&](std::size_t at) { return tolerance_of(one, given[at]); }))
    return std::optional<Distance>(distance);
  if (!all_within([&](std::size_t at) { return kHopeless * tolerance_of(one, given[at]); }))
    return std::optional<Distance>();
  // It may be ill-conditioned although what is right is not.
  QKV_ASSIGN_OR_RETURN(const VariantResult moved, nudged_variant(one.asked, mistakes));
  const std::vector<GivenTensor> other = compared_tensors(one.answer.outputs, moved, compared);
  const bool is_rounding = all_within([&](std::size_t at) {
    return tolerance_of(one, given[at]) + kRoundedSteps * largest_difference(*given[at].want, *other[at].want);
  });
  return is_rounding ? std::optional<Distance>(distance) : std::optional<Distance>();
}

Result<bool> leaves_right(const Evidence& one, const Hypothesis& hypothesis, std::span<const Mistake> accepted,
                          Compared compared) {
  QKV_ASSIGN_OR_RETURN(const VariantResult variant, compute_variant(one.asked, with_mistakes(accepted, hypothesis)));
  const std::vector<GivenTensor> said = compared_tensors(one.answer.outputs, variant, compared);
  const std::vector<GivenTensor> wanted = compared_tensors(one.answer.outputs, one.want, compared);
  double error = 0;
  for (std::size_t i = 0; i < said.size(); ++i)
    if (!matches(*said[i].want, *wanted[i].want, match_tolerance(one.asked.problem.dtype, *wanted[i].want), error))
      return false;
  return true;
}

Result<bool> tells_failure(const Evidence& one, const Hypothesis& hypothesis, std::span<const Mistake> accepted,
                           Compared compared) {
  constexpr double kSmallEffect = 4;  // match tolerances: beyond that the match itself is telling
  QKV_ASSIGN_OR_RETURN(const VariantResult variant, compute_variant(one.asked, with_mistakes(accepted, hypothesis)));
  const std::vector<GivenTensor> said = compared_tensors(one.answer.outputs, variant, compared);
  const std::vector<GivenTensor> wanted = compared_tensors(one.answer.outputs, one.want, compared);
  bool is_told = false;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const auto judged = std::ranges::find(one.tensors, std::string_view(said[i].name), &TensorVerdict::name);
    const double bound = judged == one.tensors.end() ? 0 : judged->bound.absolute;
    const double forgiven = match_tolerance(one.asked.problem.dtype, *wanted[i].want);
    double effect = 0;
    double error = 0;
    if (matches(*said[i].want, *wanted[i].want, std::min(forgiven, bound), effect)) continue;
    is_told = true;
    if (!matches(*said[i].want, *wanted[i].want, kSmallEffect * forgiven, effect)) continue;
    if (!matches(*said[i].got, *said[i].want, std::max(2 * bound, effect / 2), error)) return false;
  }
  return is_told;
}

}  // namespace qkv::check
