// Public failures with gradients and with the tests of gradients, by the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "src/check/compare.h"
#include "tests/cases.h"
#include "tests/central_differences.h"

namespace qkv {
namespace {

using testing::Array;
using testing::array;
using testing::Case;
using testing::Engine;
using testing::engines;
using testing::Json;
using testing::Lcg32;
using testing::numbers;

void expect_gradient_numbers(const Case& c, const Tensor& gradient, const char* name) {
  SCOPED_TRACE(c.where() + ", " + name);
  testing::expect_numbers(numbers(gradient), c.right(name));
}

TEST(Cases, c051_gradients_of_a_kv_head_are_summed_over_its_query_heads) {
  Case c("c051");
  c.q = {{1, 2, 1, 1}, {1, 2}};
  c.options.scale = 1;
  const auto got = gradients(c, {{1, 2, 1, 1}, {1, 3}});
  expect_gradient_numbers(c, got.dk, "dk");
  expect_gradient_numbers(c, got.dv, "dv");
}

TEST(Cases, c070_dbias_is_summed_over_the_axes_that_bias_broadcasts) {
  Case c("c070");
  const auto got = gradients(c, array(c.json["inputs"]["dO"]));
  expect_gradient_numbers(c, got.dbias, "dbias");

  // Broadcast over the keys, a bias shifts whole rows of scores and has no gradient.
  c.bias = {{2, 1}, {0.5, -1}};
  for (const double value : numbers(gradients(c, array(c.json["inputs"]["dO"])).dbias)) EXPECT_NEAR(value, 0, 1e-15);
}

TEST(Cases, c072_the_mask_holds_in_the_backward_pass) {
  const Case c("c072");
  const auto got = gradients(c, array(c.json["inputs"]["dO"]));
  expect_gradient_numbers(c, got.dq, "dq");
  expect_gradient_numbers(c, got.dk, "dk");
  expect_gradient_numbers(c, got.dv, "dv");
}

// The loss sum(d_o ⊙ o) of a case with one output number, on one engine.
double loss_at(const Engine& engine, Case c, double q) {
  c.q.values = {q};
  return compute(engine, c).o[0];
}

TEST(Cases, c078_differences_need_a_step_that_suits_the_type) {
  const Case c("c078");
  const auto got = gradients(c, array(c.json["inputs"]["dO"]));
  expect_gradient_numbers(c, got.dq, "dq");
  const double dq = c.right("dq").get<double>();
  const double q = c.q.values[0];
  for (const Engine& engine : engines()) {
    SCOPED_TRACE(c.where() + ", on " + engine.name);
    const double step = engine.dtype == DType::kF64 ? 6e-6 : 5e-3;  // the cube root of the type's epsilon
    const double slope = (loss_at(engine, c, q + step) - loss_at(engine, c, q - step)) / (2 * step);
    EXPECT_NEAR(slope, dq, (engine.dtype == DType::kF64 ? 1e-9 : 1e-3) * std::abs(dq));
  }
}

TEST(Cases, c079_a_gradient_is_judged_element_by_element) {
  const Case c("c079");
  const Dims shape{1000, 1000};
  std::vector<double> identity(1000000, 0), wrong(identity);
  for (std::size_t i = 0; i < 1000; ++i) identity[i * 1001] = 1;
  wrong[0] = wrong[1001] = 1;  // "zero except a few entries"
  const auto verdict =
      check::compare(View<const double>(wrong.data(), shape), View<const double>(identity.data(), shape), {1e-6});
  ASSERT_TRUE(verdict.is_ok());
  EXPECT_FALSE(verdict->passed) << c.where();
  EXPECT_EQ(verdict->failed, 998);
  EXPECT_EQ(verdict->worst, (Dims{2, 2}));
}

TEST(Cases, c081_every_run_gives_the_same_gradient_bits) {
  Case c("c081");
  Lcg32 random(13);
  c.q = random.fill({2, 4, 5, 3});
  c.k = random.fill({2, 2, 7, 3});
  c.v = random.fill({2, 2, 7, 3});
  const Array d_o = random.fill({2, 4, 5, 3});
  const auto first = gradients(c, d_o);
  for (int run = 1; run < c.json["inputs"]["runs"].get<int>(); ++run) {
    const auto again = gradients(c, d_o);
    EXPECT_EQ(numbers(again.dq), numbers(first.dq));
    EXPECT_EQ(numbers(again.dk), numbers(first.dk));
    EXPECT_EQ(numbers(again.dv), numbers(first.dv));
  }
}

// Elements at which an answer of 0 would pass.
std::int64_t unnoticed_zeros(const Tensor& gradient) {
  const double* first = gradient.data<double>();
  return std::count_if(first, first + gradient.size(),
                       [](double value) { return std::abs(value) <= testing::kLargestError; });
}

TEST(Cases, c104_the_gradients_that_tests_look_at_are_far_above_their_tolerance) {
  Case c("c104");
  Lcg32 random(14);
  c.q = random.fill({2, 6, 3, 7});
  c.k = random.fill({2, 2, 5, 7});
  c.v = random.fill({2, 2, 5, 11});
  const Array d_o = random.fill({2, 6, 3, 11});  // random and of size 1, never a mean
  const auto got = gradients(c, d_o);
  EXPECT_EQ(unnoticed_zeros(got.dq), 0) << c.where();
  EXPECT_EQ(unnoticed_zeros(got.dk), 0) << c.where();
  EXPECT_EQ(unnoticed_zeros(got.dv), 0) << c.where();
}

}  // namespace
}  // namespace qkv
