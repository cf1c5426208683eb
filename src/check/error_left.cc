// Tensor by tensor, against its own bound.
#include "src/check/error_left.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/check/condition.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

constexpr double kTelling = 0.1;     // of a bound: what changes less tells nothing
constexpr double kMostShare = 0.25;  // of the squares that may be left
constexpr double kMostBounds = 4;    // of one error that is left: a wrong answer's rounding is not that of a right one
constexpr std::int64_t kLeastElements = 24;

double squared(double x) { return x * x; }

double largest_of(const Tensor& tensor) {
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (const double value = std::fabs(element_as_double(tensor.view(), i)); std::isfinite(value))
      largest = std::max(largest, value);
  return largest;
}

// What is said of one tensor, beside what came and what is wanted.
struct Said {
  const Tensor& got;
  const Tensor& mistaken;
  const Tensor& want;
  const Bound& bound;

  // Whether what came is the mistaken tensor, but for rounding and `more`.
  bool is_possible(double more) const {
    const double growth = std::max(1.0, largest_of(mistaken) / std::max(largest_of(want), 1e-300));
    double error = 0;
    return matches(got, mistaken, kMostBounds * growth * bound.absolute + more, error);
  }

  void add_to(ErrorLeft& left) const {
    for (std::int64_t i = 0; i < got.size(); ++i) {
      const double right = element_as_double(want.view(), i);
      const double came = element_as_double(got.view(), i);
      const double said = element_as_double(mistaken.view(), i);
      const double allowed = bound.at(right);
      if (!std::isfinite(right + came + said) || std::fabs(said - right) <= kTelling * allowed) continue;
      left.before += squared((came - right) / allowed);
      left.after += squared((came - said) / allowed);
      ++left.elements;
    }
  }
};

}  // namespace

bool ErrorLeft::explains() const { return elements >= kLeastElements && share() <= kMostShare; }

bool ErrorLeft::is_as_good(const ErrorLeft& other) const {
  constexpr double kDeviations = 4;
  const double variance = after / static_cast<double>(std::max<std::int64_t>(1, elements));
  return (other.after - other.before) - (after - before) <= squared(kDeviations) * variance;
}

Result<std::optional<ErrorLeft>> error_left(std::span<const Evidence* const> evidence,
                                            std::span<const Mistake> mistakes, Compared compared) {
  ErrorLeft left;
  for (const Evidence* one : evidence) {
    QKV_ASSIGN_OR_RETURN(const VariantResult variant, compute_variant(one->asked, mistakes));
    const std::vector<GivenTensor> said = compared_tensors(one->answer.outputs, variant, compared);
    const std::vector<GivenTensor> wanted = compared_tensors(one->answer.outputs, one->want, compared);
    std::optional<VariantResult> moved;
    const std::int64_t elements = left.elements;
    for (std::size_t at = 0; at < said.size(); ++at) {
      const auto judged = std::ranges::find(one->tensors, said[at].name, &TensorVerdict::name);
      if (judged == one->tensors.end()) continue;
      const Said tensor{*said[at].got, *said[at].want, *wanted[at].want, judged->bound};
      if (tensor.is_possible(0)) {
        tensor.add_to(left);
        continue;
      }
      // What is ill-conditioned under the mistakes says nothing, unless it is too far off even so.
      if (!moved) {
        QKV_ASSIGN_OR_RETURN(moved, nudged_variant(one->asked, mistakes));
      }
      const GivenTensor other = compared_tensors(one->answer.outputs, *moved, compared)[at];
      if (!tensor.is_possible(kRoundedSteps * largest_difference(tensor.mistaken, *other.want)))
        return std::optional<ErrorLeft>();
    }
    if (left.elements > elements) ++left.probes;
  }
  return std::optional<ErrorLeft>(left);
}

}  // namespace qkv::check
