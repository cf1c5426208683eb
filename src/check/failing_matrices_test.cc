// What is shown of a failure is what the tensors hold, around the worst element.
#include "src/check/failing_matrices.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "qkv/problem.h"

namespace qkv::check {
namespace {

// The matrices of an answer that is right but for what `spoil` does to it.
FailingMatrices shown(const std::string& line, const std::function<void(SubjectOutputs&)>& spoil,
                      const std::vector<Mistake>& accepted = {}) {
  Case asked = std::move(generate(*parse_problem(line))).value();
  const VariantResult right = std::move(compute_variant(asked, accepted)).value();
  const auto rounded = [](const Tensor& exact) {
    return exact.is_present() ? std::move(converted(exact.view(), DType::kF32)).value() : Tensor();
  };
  SubjectAnswer answer;
  answer.outputs.o = rounded(right.o);
  answer.outputs.lse = rounded(right.lse);
  answer.outputs.dq = rounded(right.dq);
  answer.outputs.dk = rounded(right.dk);
  answer.outputs.dv = rounded(right.dv);
  spoil(answer.outputs);
  const Evidence one = std::move(judge_answer(std::move(asked), std::move(answer), accepted)).value();
  std::optional<FailingMatrices> made = std::move(failing_matrices(one, accepted)).value();
  EXPECT_TRUE(made.has_value());
  return made.value_or(FailingMatrices());
}

void add(Tensor& tensor, const Dims& index, float what) {
  std::int64_t at = 0;
  for (int axis = 0; axis < index.rank(); ++axis) at = at * tensor.shape()[axis] + index[axis];
  tensor.data<float>()[at] += what;
}

TEST(FailingMatrices, hold_the_head_of_the_worst_element_with_its_difference) {
  const FailingMatrices made =
      shown("attention B2 H4/2 T3x5 D7/6 lse", [](SubjectOutputs& out) { add(out.o, {1, 3, 2, 4}, 0.5F); });
  EXPECT_EQ(made.tensor, "o");
  EXPECT_EQ(to_string(made.got.at), "[1,3]");
  EXPECT_EQ(made.got.rows, 3);
  EXPECT_EQ(made.got.columns, 6);
  EXPECT_NEAR(made.error.values[2][4], 0.5, 1e-6);
  EXPECT_GT(made.bound, 0);
  EXPECT_LT(made.bound, 1e-4);
  EXPECT_NEAR(made.got.values[2][4] - made.want.values[2][4], 0.5, 1e-6);
  EXPECT_NEAR(made.error.values[2][3], 0, 1e-6);
  for (const std::vector<double>& row : made.weights->values)
    EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1, 1e-12);
}

TEST(FailingMatrices, weights_are_of_the_corner_that_counts_as_right) {
  const auto spoil = [](SubjectOutputs& out) { add(out.o, {0, 0, 0, 0}, 0.5F); };
  const std::string line = "attention T2x4 D3 causal=bottom_right";
  EXPECT_GT(shown(line, spoil).weights->values[0][2], 0);
  const FailingMatrices accepted = shown(line, spoil, {find_mistake("corner_top_left")->mistake});
  EXPECT_EQ(accepted.weights->values[0][0], 1);
  EXPECT_EQ(accepted.weights->values[0][2], 0);
}

TEST(FailingMatrices, are_cut_around_the_worst_element_where_they_are_large) {
  const FailingMatrices made =
      shown("attention T70x90 D40 causal=bottom_right", [](SubjectOutputs& out) { add(out.o, {0, 0, 69, 39}, 0.5F); });
  EXPECT_EQ(made.got.values.size(), 32U);
  EXPECT_EQ(made.got.first_row, 38);
  EXPECT_EQ(made.got.first_column, 8);
  EXPECT_EQ(made.got.rows, 70);
  EXPECT_NEAR(made.error.values[31][31], 0.5, 1e-6);
  EXPECT_EQ(made.weights->first_column, 58);  // up to the last key, which the last query sees
  EXPECT_EQ(made.weights->values[0][31], 0);
  EXPECT_GT(made.weights->values[31][31], 0);
}

TEST(FailingMatrices, of_lse_are_a_column) {
  const FailingMatrices made =
      shown("attention H2 T3x5 D7 lse", [](SubjectOutputs& out) { add(out.lse, {0, 1, 2}, 0.5F); });
  EXPECT_EQ(made.tensor, "lse");
  EXPECT_EQ(made.got.columns, 1);
  EXPECT_NEAR(made.error.values[2][0], 0.5, 1e-6);
  EXPECT_EQ(to_string(made.weights->at), "[0,1]");
}

TEST(FailingMatrices, of_a_gradient_of_keys_have_the_weights_of_a_query_head_that_reads_them) {
  const FailingMatrices made =
      shown("attention H4/2 T3x5 D7 backward", [](SubjectOutputs& out) { add(out.dk, {0, 1, 4, 6}, 5.0F); });
  EXPECT_EQ(made.tensor, "dk");
  EXPECT_EQ(to_string(made.got.at), "[0,1]");
  EXPECT_EQ(made.got.rows, 5);
  EXPECT_EQ(to_string(made.weights->at), "[0,2]");
}

TEST(FailingMatrices, weights_that_came_are_cut_as_those_of_the_reference) {
  FailingMatrices made =
      shown("attention B2 H4/2 T3x40 D7", [](SubjectOutputs& out) { add(out.o, {1, 3, 2, 4}, 0.5F); });
  add_weights_got(made, {});
  EXPECT_FALSE(made.weights_got.has_value());
  Tensor weights = std::move(Tensor::zeros(DType::kF32, {2, 4, 3, 40})).value();
  add(weights, {1, 3, 2, 39}, 0.25F);
  add_weights_got(made, weights);
  ASSERT_TRUE(made.weights_got.has_value());
  EXPECT_EQ(made.weights_got->first_column, 8);
  EXPECT_EQ(made.weights_got->values[2][31], 0.25);
  EXPECT_EQ(made.weights_got->values[1][31], 0);
}

}  // namespace
}  // namespace qkv::check
