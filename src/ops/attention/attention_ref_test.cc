// The float64 reference of attention, against numbers worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "qkv/reference.h"

namespace qkv {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// q k v that own their numbers.
struct Case {
  std::vector<double> q, k, v;
  Dims q_shape, k_shape, v_shape;
  AttentionInputs inputs() const {
    return {View<const double>(q.data(), q_shape), View<const double>(k.data(), k_shape),
            View<const double>(v.data(), v_shape)};
  }
};

// One head, width 1, all scores 0 unless k is changed: the weights are equal and o is the mean of what is seen.
Case flat(std::int64_t queries, const std::vector<double>& values) {
  const auto keys = static_cast<std::int64_t>(values.size());
  return {std::vector<double>(static_cast<std::size_t>(queries), 1.0),
          std::vector<double>(values.size(), 0.0),
          values,
          {1, 1, queries, 1},
          {1, 1, keys, 1},
          {1, 1, keys, 1}};
}

std::vector<double> numbers(const Tensor& tensor) {
  return {tensor.data<double>(), tensor.data<double>() + tensor.size()};
}

std::vector<double> output(const Case& c, const AttentionOptions& options) {
  const Result<reference::AttentionResult> result = reference::attention_forward(c.inputs(), options);
  EXPECT_TRUE(result.is_ok()) << result.status().message();
  return result.is_ok() ? numbers(result->o) : std::vector<double>{};
}

TEST(AttentionReference, computes_the_lesson_by_hand) {
  const Case bank{{1, 2}, {1, 0, 1, 1, 0, 2}, {1, 0, .5, .5, 1, 0}, {1, 1, 1, 2}, {1, 1, 3, 2}, {1, 1, 3, 2}};
  const std::vector<double> o = output(bank, {});
  EXPECT_NEAR(o[0], 0.8471523745805127, 1e-15);
  EXPECT_NEAR(o[1], 0.1528476254194872, 1e-15);
}

TEST(AttentionReference, an_empty_row_is_zero_with_lse_minus_infinity) {
  const Case c = flat(2, {10, 20});
  const bool keep[] = {true, false, false, false};
  AttentionOptions options;
  options.keep = View<const bool>(keep, {2, 2});
  const auto result = reference::attention_forward(c.inputs(), options);
  ASSERT_TRUE(result.is_ok()) << result.status().message();
  EXPECT_EQ(numbers(result->o), (std::vector<double>{10, 0}));
  EXPECT_EQ(numbers(result->lse), (std::vector<double>{0, -kInf}));
}

TEST(AttentionReference, reads_nothing_behind_a_mask) {
  for (const double poison : {kNaN, kInf, -kInf, 1e30}) {
    Case c = flat(1, {3, poison});
    c.k[1] = poison;
    const bool keep[] = {true, false};
    AttentionOptions options;
    options.keep = View<const bool>(keep, {2});
    EXPECT_EQ(output(c, options), std::vector<double>{3});
  }
}

}  // namespace
}  // namespace qkv
