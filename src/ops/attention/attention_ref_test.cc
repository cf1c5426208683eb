// The float64 reference of attention, against numbers worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
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

TEST(AttentionReference, gradients_read_nothing_behind_a_mask_either) {
  const double d_o[] = {2};
  const bool keep[] = {true, false};
  for (const double poison : {kNaN, kInf, 1e30}) {
    Case c = flat(1, {3, poison});
    c.k[1] = poison;
    AttentionOptions options;
    options.keep = View<const bool>(keep, {2});
    Trace trace;
    for (Trace* kept : {static_cast<Trace*>(nullptr), &trace}) {
      const auto got =
          reference::attention_backward(c.inputs(), View<const double>(d_o, {1, 1, 1, 1}), {}, options, kept);
      ASSERT_TRUE(got.is_ok()) << got.status().message();
      EXPECT_EQ(numbers(got->dq), std::vector<double>{0});
      EXPECT_EQ(numbers(got->dk), (std::vector<double>{0, 0}));
      EXPECT_EQ(numbers(got->dv), (std::vector<double>{2, 0}));
    }
  }
}

TEST(AttentionReference, a_nan_that_is_seen_reaches_its_own_rows_only) {
  Case c = flat(2, {3, kNaN});
  const bool keep[] = {true, false, true, true};
  AttentionOptions options;
  options.keep = View<const bool>(keep, {2, 2});
  const std::vector<double> o = output(c, options);
  EXPECT_EQ(o[0], 3);
  EXPECT_TRUE(std::isnan(o[1]));
}

TEST(AttentionReference, a_sink_alone_keeps_a_row_from_being_empty) {
  const Case c = flat(1, {10});
  const bool keep[] = {false};
  const std::vector<double> sinks = {1.5};
  AttentionOptions options;
  options.keep = View<const bool>(keep, {1});
  options.sinks = sinks;
  const auto result = reference::attention_forward(c.inputs(), options);
  ASSERT_TRUE(result.is_ok()) << result.status().message();
  EXPECT_EQ(numbers(result->o), std::vector<double>{0});
  EXPECT_EQ(numbers(result->lse), std::vector<double>{1.5});
}

TEST(AttentionReference, the_trace_shows_every_pair_before_the_mask_and_only_what_is_seen_after) {
  Case c = flat(2, {10, 20});
  c.k = {1, 2};
  const std::vector<double> slopes = {0.5};
  AttentionOptions options;
  options.scale = 2;
  options.softcap = 8;
  options.slopes = slopes;
  options.causality = Causality::kCausal;
  Trace trace;
  ASSERT_TRUE(reference::attention_forward(c.inputs(), options, &trace).is_ok());
  std::vector<std::string> names;
  names.reserve(trace.stages.size());
  for (const Stage& stage : trace.stages) names.push_back(stage.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"q", "k", "v", "raw", "scaled", "capped", "biased", "masked", "p", "lse", "o"}));
  EXPECT_EQ(numbers(trace.find("raw")->values), (std::vector<double>{1, 2, 1, 2}));
  EXPECT_EQ(numbers(trace.find("scaled")->values), (std::vector<double>{2, 4, 2, 4}));
  const double low = 8 * std::tanh(2 / 8.0);
  const double high = 8 * std::tanh(4 / 8.0);
  EXPECT_EQ(numbers(trace.find("capped")->values), (std::vector<double>{low, high, low, high}));
  EXPECT_EQ(numbers(trace.find("biased")->values), (std::vector<double>{low, high - 0.5, low - 0.5, high}));
  EXPECT_EQ(numbers(trace.find("masked")->values), (std::vector<double>{low, -kInf, low - 0.5, high}));
  EXPECT_EQ(numbers(trace.find("p")->values)[1], 0);
  EXPECT_EQ(trace.find("biased")->formula, "capped − slope · |p − j|");
  EXPECT_EQ(trace.find("masked")->from, std::vector<std::string>{"biased"});
}

TEST(AttentionReference, a_trace_changes_no_bit_of_the_result) {
  const Case c{{1, 2, 3, 4}, {1, 0, 1, 1, 0, 2}, {1, 0, .5, .5, 1, 0}, {1, 1, 2, 2}, {1, 1, 3, 2}, {1, 1, 3, 2}};
  Trace trace;
  const auto with = reference::attention_forward(c.inputs(), {}, &trace);
  const auto without = reference::attention_forward(c.inputs(), {});
  EXPECT_EQ(numbers(with->o), numbers(without->o));
  EXPECT_EQ(numbers(with->lse), numbers(without->lse));
}

TEST(AttentionReference, each_tensor_may_have_its_own_floating_type) {
  const std::vector<float> q = {1, 2};
  const bf16 k[] = {to_bf16(1.0F), to_bf16(0.0F), to_bf16(1.0F), to_bf16(1.0F), to_bf16(0.0F), to_bf16(2.0F)};
  const f16 v[] = {to_f16(1.0F), to_f16(0.5F), to_f16(1.0F)};
  const AttentionInputs inputs{View<const float>(q.data(), {1, 1, 1, 2}), View<const bf16>(k, {1, 1, 3, 2}),
                               View<const f16>(v, {1, 1, 3, 1})};
  const auto result = reference::attention_forward(inputs);
  ASSERT_TRUE(result.is_ok()) << result.status().message();
  EXPECT_NEAR(numbers(result->o)[0], 0.8471523745805127, 1e-15);
}

TEST(AttentionReference, gradients_of_the_wrong_shape_are_refused) {
  const Case c = flat(2, {1, 2});
  const std::vector<double> d(4, 1);
  const auto short_do = reference::attention_backward(c.inputs(), View<const double>(d.data(), {1, 1, 1, 1}));
  EXPECT_EQ(short_do.code(), StatusCode::kShapeMismatch);
  EXPECT_EQ(short_do.status().message(), "attention: d_o [B,Hq,Tq,Dv] is [1,1,1,1], but Tq is 2 by q");
  const auto wide_lse = reference::attention_backward(c.inputs(), View<const double>(d.data(), {1, 1, 2, 1}),
                                                      View<const double>(d.data(), {1, 1, 3}));
  EXPECT_EQ(wide_lse.code(), StatusCode::kShapeMismatch);
  EXPECT_NE(wide_lse.status().message().find("d_lse [B,Hq,Tq] is [1,1,3], but Tq is 2"), std::string::npos);
}

TEST(AttentionReference, tells_of_every_row_and_stops_when_it_is_told_to) {
  const Case c = flat(3, {1, 2});
  std::vector<std::int64_t> told;
  Trace trace;
  const auto stopped = reference::attention_forward(c.inputs(), {}, &trace, [&](std::int64_t done, std::int64_t total) {
    EXPECT_EQ(total, 3);
    told.push_back(done);
    return done < 2;
  });
  EXPECT_EQ(stopped.code(), StatusCode::kCancelled);
  EXPECT_EQ(told, (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(trace.stages.empty());
}

}  // namespace
}  // namespace qkv
