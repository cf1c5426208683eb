// Public failures with masks, corners and windows, each with its right value on every engine.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/cases.h"

namespace qkv {
namespace {

using testing::Array;
using testing::array;
using testing::Case;
using testing::Json;
using testing::Lcg32;
using testing::numbers;
using testing::powers_of_ten;

// q [6,2] and k [6,2] of the window cases.
Case window_case(const char* id) {
  Case c(id);
  Lcg32 random(5);
  c.q = random.fill({1, 1, 6, 2});
  c.k = random.fill({1, 1, 6, 2});
  c.v = powers_of_ten(6);
  return c;
}

TEST(Cases, c001_a_row_without_an_allowed_key_is_zero_and_has_no_gradient) {
  Case c("c001");
  c.options.scale = 1;
  expect_output(c, c.right("out"));
  expect_lse(c, c.right("lse"));
  const auto got = gradients(c, array(Json({{1.0}, {1.0}})));
  EXPECT_EQ(numbers(got.dq)[1], 0);
  EXPECT_EQ(numbers(got.dk), (std::vector<double>{0, 0})) << "row 0 sees one key only, row 1 none";
  EXPECT_EQ(numbers(got.dv), (std::vector<double>{1, 0}));
}

TEST(Cases, c003_a_huge_finite_bias_is_no_mask) {
  Case c("c003");
  c.options.scale = 1;
  expect_output(c, c.right("out"));
}

TEST(Cases, c004_a_keep_mask_and_a_bias_of_minus_infinity_select_and_never_multiply) {
  Case by_keep("c004");
  by_keep.options.scale = 1;
  expect_exact_output(by_keep, by_keep.right("out"));
  Case by_bias("c004");
  by_bias.options.scale = 1;
  by_bias.keep.clear();
  by_bias.bias = array(Json::array({by_bias.right("bias")}), 2);
  expect_exact_output(by_bias, by_bias.right("out"));
}

TEST(Cases, c006_a_fill_of_minus_65504_is_a_bias_and_only_a_mask_hides) {
  const Case filled("c006");
  expect_output(filled, filled.right("out_if_finite_bias"));
  Case masked("c006");
  masked.bias = {};
  masked.set_keep(Json({{false, false}}));
  expect_exact_output(masked, masked.right("out_if_meant_as_mask"));
}

TEST(Cases, c028_a_masked_key_does_not_win_however_low_the_others_score) {
  Case c("c028");
  c.bias = {};
  c.set_keep(Json({{true, false}}));
  expect_exact_output(c, c.right("out"));
}

TEST(Cases, c007_poison_behind_a_mask_changes_no_bit) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Case c("c007");
  expect_exact_output(c, c.right("out"));
  for (const double poison : {kInf, -kInf, 1e30, std::numeric_limits<double>::quiet_NaN()}) {
    c.k.values[2] = c.k.values[3] = c.v.values[1] = poison;
    expect_exact_output(c, c.right("out"));
    const auto got = gradients(c, array(Json({{1.0}, {2.0}})));
    EXPECT_EQ(numbers(got.dq), (std::vector<double>{0, 0, 0, 0})) << poison;
    EXPECT_EQ(numbers(got.dk), (std::vector<double>{0, 0, 0, 0})) << poison;
    EXPECT_EQ(numbers(got.dv), (std::vector<double>{3, 0})) << poison;
  }
}

TEST(Cases, c009_causal_holds_beside_any_other_option) {
  const Case c("c009");
  expect_output(c, c.right("out"));
  Trace trace;  // "return weights" was the option that lost the mask
  const auto traced = reference::attention_forward({c.q.view(), c.k.view(), c.v.view()}, c.options, &trace);
  ASSERT_TRUE(traced.is_ok());
  testing::expect_numbers(numbers(traced->o), c.right("out"));
  const std::vector<double> p = numbers(trace.find("p")->values);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = i + 1; j < 4; ++j) EXPECT_EQ(p[i * 4 + j], 0);
}

TEST(Cases, c010_the_causal_frontier_is_drawn_row_by_row) {
  Case c("c010");
  Lcg32 random(11);
  c.q = random.fill({1, 1, 8, 2});
  c.k = random.fill({1, 1, 8, 2});
  c.v = powers_of_ten(8);
  c.options.causality = Causality::kCausal;
  expect_output(c, c.right("out"));
}

TEST(Cases, c011_both_corners_are_computed_and_none_is_guessed) {
  Case c("c011");
  c.options.causality = Causality::kCausal;
  const auto guessed = reference::attention_forward({c.q.view(), c.k.view(), c.v.view()}, c.options);
  EXPECT_EQ(guessed.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(guessed.status().message().find("top_left, bottom_right or an offset"), std::string::npos);
  c.options.corner = Corner::kBottomRight;
  expect_output(c, c.right("out_bottom_right"));
  c.options.corner = Corner::kTopLeft;
  expect_output(c, c.wrong("out_top_left"));
}

TEST(Cases, c013_one_query_at_the_end_of_a_cache_sees_every_key) {
  Case c("c013");
  c.options.causality = Causality::kCausal;
  c.options.corner = Corner::kBottomRight;
  expect_output(c, c.right("out"));
  c.options.corner = Corner::kTopLeft;
  expect_output(c, c.wrong("out"));
}

TEST(Cases, c015_a_bias_and_causal_combine) {
  const Case c("c015");
  expect_output(c, c.right("out"));
}

TEST(Cases, c017_a_model_window_of_3_is_left_2_inclusive) {
  Case c = window_case("c017");
  c.options.causality = Causality::kCausal;
  c.options.window.left = c.json["inputs"]["W"].get<std::int64_t>() - 1;
  expect_output(c, c.right("out"));
  c.options.window.left += 1;
  expect_output(c, c.wrong("out"));
}

TEST(Cases, c019_a_window_and_causal_both_hold_for_queries_at_the_end_of_the_keys) {
  Case c = window_case("c019");
  c.q.values.resize(4);  // rows 0 and 1
  c.q.shape = {1, 1, 2, 2};
  c.options.causality = Causality::kCausal;
  c.options.corner = Corner::kBottomRight;
  c.options.window.left = 2;
  expect_output(c, c.right("out"));
  c.options = {};
  c.set_keep(c.right("keep"));
  expect_output(c, c.right("out"));
}

TEST(Cases, c021_a_window_needs_neither_a_mask_nor_causal) {
  Case c = window_case("c021");
  expect_output(c, c.wrong("out"));  // without the window
  c.options.window = {1, 1};
  expect_output(c, c.right("out"));
}

TEST(Cases, c023_true_in_a_mask_means_keep) {
  Case c("c023");
  c.set_keep(c.json["inputs"]["mask_true_means_keep"]);
  expect_output(c, c.right("out"));
  for (std::uint8_t& seen : c.keep) seen = static_cast<std::uint8_t>(1 - seen);
  expect_output(c, c.wrong("out_inverted"));
}

TEST(Cases, c024_a_mask_of_zeros_and_ones_is_kept_apart_from_a_bias) {
  Case c("c024");
  c.set_keep(c.json["inputs"]["mask"]);
  expect_output(c, c.right("out"));
  const Array floats = array(c.json["inputs"]["mask"], 2);
  AttentionOptions options;
  options.keep = floats.view();
  const auto refused = reference::attention_forward({c.q.view(), c.k.view(), c.v.view()}, options);
  EXPECT_EQ(refused.code(), StatusCode::kShapeMismatch);
  EXPECT_NE(refused.status().message().find("expected bool"), std::string::npos);
}

TEST(Cases, c025_a_constant_added_to_a_row_changes_only_lse) {
  Case c("c025");
  expect_output(c, c.right("out"));
  const std::vector<double> shifted = compute(testing::engines().front(), c).lse;
  for (double& value : c.bias.values) value -= 1;  // −inf stays −inf
  std::vector<double> plain = compute(testing::engines().front(), c).lse;
  for (double& value : plain) value += 1;
  testing::expect_numbers(shifted, plain);
}

TEST(Cases, c030_a_padding_mask_belongs_to_its_sample_whatever_the_head) {
  Case c("c030");
  c.q = {{2, 2, 1, 1}, {0, 0, 0, 0}};
  c.k = {{2, 2, 2, 1}, std::vector<double>(8)};
  c.v = {{2, 2, 2, 1}, {1, 3, 1, 3, 10, 30, 10, 30}};
  const std::uint8_t mask[] = {1, 1, 1, 0};
  c.options.key_mask = View<const std::uint8_t>(mask, {2, 2});
  Json want = c.right("out_b0");
  for (const Json& value : c.right("out_b1")) want.push_back(value);
  expect_exact_output(c, want);
  const std::int64_t lengths[] = {2, 1};
  c.options.key_mask = {};
  c.options.key_lengths = lengths;
  expect_exact_output(c, want);
}

}  // namespace
}  // namespace qkv
