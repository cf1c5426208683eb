// Element by element, no averages: one wrong element is a wrong result.
#include "src/check/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "src/core/for_each_element.h"

namespace qkv::check {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// |got − want|; 0 for what counts as equal, infinite for what no bound can excuse.
double error_of(double got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : kInfinity;
  if (std::isnan(got)) return kInfinity;
  if (std::isinf(got) || std::isinf(want)) return got == want ? 0 : kInfinity;
  return std::fabs(got - want);
}

Dims index_of(std::int64_t position, const Dims& shape) {
  Dims index = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[axis] = position % shape[axis];
    position /= shape[axis];
  }
  return index;
}

}  // namespace

double Bound::at(double want) const {
  // An infinite or NaN want admits only itself, and 0 · inf must not turn the bound into NaN.
  if (!std::isfinite(want)) return 0;
  return std::min(absolute, relative * (1 + std::fabs(want)));
}

double largest_finite(const Tensor& tensor) {
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (const double value = std::fabs(element_as_double(tensor.view(), i)); std::isfinite(value))
      largest = std::max(largest, value);
  return largest;
}

Result<Comparison> compare(View<const void> got, View<const void> want, const Bound& bound) {
  if (!(got.shape == want.shape))
    return shape_mismatch("compare: got " + to_string(got.shape) + " but want " + to_string(want.shape));
  if (!is_floating(got.dtype) || !is_floating(want.dtype))
    return shape_mismatch("compare: " + std::string(to_string(got.dtype)) + " with " +
                          std::string(to_string(want.dtype)) + "; expected floating types");
  std::vector<std::int64_t> wanted;  // offsets into want, in row-major order
  for_each_element(want.shape, want.strides, [&](std::int64_t offset) { wanted.push_back(offset); });
  Comparison result;
  double furthest = -kInfinity;  // above the bound
  for_each_element(got.shape, got.strides, [&](std::int64_t offset) {
    const double g = element_as_double(got, offset);
    const double w = element_as_double(want, wanted[static_cast<std::size_t>(result.count)]);
    const double error = error_of(g, w);
    const double limit = bound.at(w);
    const bool wrong = std::isinf(error) || !(error <= limit);
    if (wrong) ++result.failed;
    result.largest_error = std::max(result.largest_error, error);
    const double above = wrong && std::isinf(error) ? kInfinity : error - limit;
    if (result.worst.rank() == 0 || above > furthest) {
      furthest = above;
      result.worst = index_of(result.count, got.shape);
      result.got = g;
      result.want = w;
      result.error = error;
      result.bound = limit;
    }
    ++result.count;
  });
  result.passed = result.failed == 0;
  return result;
}

std::string to_string(const Comparison& c) {
  std::array<char, 160> numbers{};
  std::snprintf(numbers.data(), numbers.size(), "got %.9g, want %.9g, error %.3g %s %.3g", c.got, c.want, c.error,
                c.error <= c.bound ? "<=" : ">", c.bound);
  const std::string verdict = c.passed ? "all " + std::to_string(c.count) + " right"
                                       : std::to_string(c.failed) + " of " + std::to_string(c.count) + " wrong";
  return c.count == 0 ? "nothing to compare" : verdict + "; worst " + to_string(c.worst) + ": " + numbers.data();
}

}  // namespace qkv::check
