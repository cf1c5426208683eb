// The float64 LayerNorm: numbers by hand, constant rows, and every refusal. Its gradient is proven in tests/.
#include "src/ops/layernorm/layernorm_ref.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace qkv::reference {
namespace {

std::vector<double> numbers(const Tensor& tensor) {
  return {tensor.data<double>(), tensor.data<double>() + tensor.size()};
}

View<const void> view(const std::vector<double>& values, Dims shape) {
  return View<const double>(values.data(), shape);
}

TEST(LayerNormReference, brings_a_row_to_mean_0_and_variance_1_then_scales_and_shifts) {
  const std::vector<double> x = {1, 3, -2, 2}, gamma = {2, -1}, beta = {10, 20};
  const auto y = layernorm_forward(view(x, {2, 1, 2}), {view(gamma, {2}), view(beta, {2}), 0});
  ASSERT_TRUE(y.is_ok()) << y.status().message();
  EXPECT_EQ(numbers(y->u), (std::vector<double>{8, 19, 8, 19}));
  EXPECT_EQ(numbers(y->mean), (std::vector<double>{2, 0}));
  EXPECT_EQ(numbers(y->sigma), (std::vector<double>{1, 2}));
  EXPECT_EQ(y->mean.shape(), (Dims{2, 1}));
}

TEST(LayerNormReference, a_constant_row_becomes_beta_exactly) {
  const std::vector<double> x = {0.1, 0.1, 0.1}, beta = {1, 2, 3};
  const auto y = layernorm_forward(view(x, {1, 3}), {{}, view(beta, {3}), 1e-300});
  ASSERT_TRUE(y.is_ok()) << y.status().message();
  EXPECT_EQ(numbers(y->u), beta);
}

TEST(LayerNormReference, a_constant_row_without_eps_is_named_and_never_nan) {
  const std::vector<double> x = {1, 2, 5, 6, 3, 4, 0.1, 0.1};
  const auto y = layernorm_forward(view(x, {2, 2, 2}), {{}, {}, 0});
  ASSERT_EQ(y.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(y.status().message().find("row [1,1] of x [2,2,2] has variance 0"), std::string::npos)
      << y.status().message();
}

TEST(LayerNormReference, a_nan_stays_in_its_row) {
  const std::vector<double> x = {1, std::numeric_limits<double>::quiet_NaN(), 1, 3};
  const auto y = layernorm_forward(view(x, {2, 2}), {{}, {}, 0});
  ASSERT_TRUE(y.is_ok()) << y.status().message();
  EXPECT_TRUE(std::isnan(numbers(y->u)[0]));
  EXPECT_EQ(numbers(y->u)[2], -1);
}

TEST(LayerNormReference, every_misfit_is_refused_with_its_line) {
  const std::vector<double> x(6, 1), two(2, 1);
  const std::vector<std::int32_t> whole(6, 1);
  const auto refusal = [](const auto& result) { return result.status().message(); };
  EXPECT_EQ(refusal(layernorm_forward(view(x, {2, 3}), {view(two, {2}), {}, 0})),
            "layernorm: gamma [C] is [2], but C is 3 by x [2,3]");
  EXPECT_EQ(refusal(layernorm_forward(view(x, {2, 3}), {{}, {}, -1})),
            "layernorm: eps must be finite and not negative, found -1.000000");
  EXPECT_EQ(refusal(layernorm_forward(view(x, {2, 0}), {})), "layernorm: x [...,C] is [2,0]; expected C >= 1");
  EXPECT_EQ(refusal(layernorm_forward(View<const std::int32_t>(whole.data(), {2, 3}), {})),
            "layernorm: x is i32; expected f64, f32, bf16 or f16");
  EXPECT_EQ(refusal(layernorm_backward(view(x, {2, 3}), view(x, {3, 2}), {})),
            "layernorm: d_u is [3,2]; expected [2,3], the shape of x");
}

TEST(LayerNormReference, no_rows_give_an_empty_result_and_zero_gradients) {
  const std::vector<double> none;
  const auto got = layernorm_backward(view(none, {0, 2}), view(none, {0, 2}), {});
  ASSERT_TRUE(got.is_ok()) << got.status().message();
  EXPECT_EQ(got->dx.shape(), (Dims{0, 2}));
  EXPECT_EQ(numbers(got->dgamma), (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace qkv::reference
