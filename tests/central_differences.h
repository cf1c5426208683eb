// Central differences: what a gradient is held to.
#ifndef QKV_TESTS_CENTRAL_DIFFERENCES_H_
#define QKV_TESTS_CENTRAL_DIFFERENCES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "qkv/tensor.h"
#include "src/core/for_each_element.h"

namespace qkv::testing {

inline constexpr double kStep = 1e-6;
inline constexpr double kLargestError = 1e-8;  // times max(1, |loss|)

// L(above) − L(below) for L = Σ weights ⊙ outputs, summed as differences: what a step does not touch (−inf too) drops
// out, and the rounding of the loss itself does not drown the change.
inline double loss_change(const std::vector<double>& weights, const std::vector<double>& above,
                          const std::vector<double>& below) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (above[i] != below[i]) sum += weights[i] * (above[i] - below[i]);
  return sum;
}

inline double loss(const std::vector<double>& weights, const std::vector<double>& outputs) {
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (std::isfinite(outputs[i])) sum += weights[i] * outputs[i];
  return sum;
}

// Compares `gradient` with central differences along every element of `input` (f64, any strides).
// `outputs` computes the numbers whose sum, weighted with `weights`, is the loss.
template <class Outputs>
void expect_gradient(const std::string& name, View<void> input, const Tensor& gradient,
                     const std::vector<double>& weights, Outputs outputs) {
  ASSERT_TRUE(gradient.is_present()) << name;
  ASSERT_EQ(gradient.shape(), input.shape) << name;
  const double bound = kLargestError * std::max(1.0, std::abs(loss(weights, outputs())));
  std::int64_t index = 0;
  for_each_element(input.shape, input.strides, [&](std::int64_t offset) {
    double& value = static_cast<double*>(input.data)[offset];
    const double here = value;
    value = here + kStep;
    const std::vector<double> above = outputs();
    value = here - kStep;
    const std::vector<double> below = outputs();
    value = here;
    const double difference = loss_change(weights, above, below) / (2 * kStep);
    const double got = gradient.data<double>()[index++];
    EXPECT_LE(std::abs(got - difference), bound)
        << name << " element " << index - 1 << ": " << got << " against " << difference;
  });
}

}  // namespace qkv::testing

#endif  // QKV_TESTS_CENTRAL_DIFFERENCES_H_
