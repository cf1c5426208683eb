// The float64 projection: numbers by hand and every refusal. Its gradient is proven in tests/.
#include "src/ops/project/project_ref.h"

#include <gtest/gtest.h>

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

const std::vector<double> kX = {1, 2, 3, 4}, kW = {1, 10, 100, 2, 20, 200}, kB = {0.5, 0, -1};

TEST(ProjectReference, multiplies_rows_by_columns_and_adds_b) {
  const auto y = project_forward(view(kX, {1, 2, 2}), view(kW, {2, 3}), view(kB, {3}));
  ASSERT_TRUE(y.is_ok()) << y.status().message();
  EXPECT_EQ(y->shape(), (Dims{1, 2, 3}));
  EXPECT_EQ(numbers(*y), (std::vector<double>{5.5, 50, 499, 11.5, 110, 1099}));
}

TEST(ProjectReference, reads_a_transposed_matrix_by_its_strides) {
  const std::vector<double> transposed = {1, 2, 10, 20, 100, 200};
  const View<const double> w(transposed.data(), {2, 3}, {1, 2});
  EXPECT_EQ(numbers(*project_forward(view(kX, {2, 2}), w, {})),
            numbers(*project_forward(view(kX, {2, 2}), view(kW, {2, 3}), {})));
}

TEST(ProjectReference, the_gradient_is_dy_wt_xt_dy_and_the_sum_of_dy) {
  const std::vector<double> dy = {1, 0, 0, 0, 1, 0};
  const auto got = project_backward(view(kX, {2, 2}), view(kW, {2, 3}), view(dy, {2, 3}));
  ASSERT_TRUE(got.is_ok()) << got.status().message();
  EXPECT_EQ(numbers(got->dx), (std::vector<double>{1, 2, 10, 20}));
  EXPECT_EQ(numbers(got->dw), (std::vector<double>{1, 3, 0, 2, 4, 0}));
  EXPECT_EQ(numbers(got->db), (std::vector<double>{1, 1, 0}));
}

TEST(ProjectReference, every_misfit_is_refused_with_its_line) {
  const auto refusal = [](const auto& result) { return result.status().message(); };
  EXPECT_EQ(refusal(project_forward(view(kX, {4, 1}), view(kW, {2, 3}), {})),
            "project: w [C,E] is [2,3], but C is 1 by x [4,1]");
  EXPECT_EQ(refusal(project_forward(view(kX, {2, 2}), view(kW, {2, 3}), view(kB, {1}))),
            "project: b [E] is [1], but E is 3 by w [2,3] (w [2,3])");
  EXPECT_EQ(refusal(project_backward(view(kX, {2, 2}), view(kW, {2, 3}), view(kW, {3, 2}))),
            "project: d_y is [3,2]; expected [2,3], the shape of y");
  EXPECT_EQ(refusal(project_forward({}, view(kW, {2, 3}), {})), "project: x [...,C] has no axes");
}

}  // namespace
}  // namespace qkv::reference
