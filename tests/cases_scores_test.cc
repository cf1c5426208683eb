// Public failures with scale, softmax, softcap, sinks, slopes and lse, each with its right value on every engine.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "src/check/bounds.h"
#include "src/check/compare.h"
#include "tests/cases.h"

namespace qkv {
namespace {

using testing::Answer;
using testing::Array;
using testing::array;
using testing::Case;
using testing::Engine;
using testing::Json;
using testing::Lcg32;
using testing::numbers;
using testing::unit_matrix;

// q, k, v of the three cases about the scale: D = 4, so that the default scale is 1/2.
Case scale_case(const char* id) {
  Case c(id);
  Lcg32 random(3);
  c.q = random.fill({1, 1, 3, 4}, 2);
  c.k = random.fill({1, 1, 3, 4}, 2);
  c.v = random.fill({1, 1, 3, 4});
  return c;
}

TEST(Cases, c032_the_scale_comes_from_the_width_of_a_head) {
  Case c = scale_case("c032");
  expect_output(c, c.right("out"));
  c.options.scale = 0.25;  // from the width of the model
  expect_output(c, c.wrong("out"));
}

TEST(Cases, c033_the_scale_is_applied_once) {
  Case c = scale_case("c033");
  expect_output(c, c.right("out"));
  for (double& value : c.q.values) value *= 0.5;
  expect_output(c, c.wrong("out"));
}

TEST(Cases, c034_no_path_goes_without_the_scale) {
  Case c = scale_case("c034");
  expect_output(c, c.right("out"));
  c.options.scale = 1;
  expect_output(c, c.wrong("out"));
}

TEST(Cases, c037_the_order_of_the_keys_does_not_matter) {
  Case c("c037");
  c.options.scale = 1;
  expect_output(c, c.right("out"));
  std::swap(c.k.values[0], c.k.values[3]);
  std::swap(c.v.values[0], c.v.values[3]);
  expect_output(c, c.right("out"));
}

TEST(Cases, c038_a_negative_scale_is_legal) {
  Case c("c038");
  expect_output(c, c.right("out"));
  c.options.scale = 0;
  expect_output(c, Json({0.5}));
}

TEST(Cases, c040_the_softmax_runs_over_the_keys) {
  Case c("c040");
  expect_output(c, c.right("out"));
  c.v.values = {1, 1, 1};
  expect_output(c, c.right("row_sums"));
}

TEST(Cases, c042_no_score_is_too_large_or_too_small_for_exp) {
  Case c("c042");
  expect_output(c, c.right("out"));
  for (const double size : {1.0, 100.0, 1e4, -200.0, -1e4}) {
    c.k.values = {size, size};
    expect_output(c, Json({0.5}));
  }
}

TEST(Cases, c074_rowsum_of_do_o_is_rowsum_of_dp_p) {
  Case c("c074");
  c.options.scale = 1;
  Trace trace;
  gradients(c, array(c.json["inputs"]["dO"]), &trace);
  testing::expect_numbers(numbers(trace.find("delta")->values), Json::array({c.right("D_rowsum_dO_O")}));
  const std::vector<double> o = numbers(trace.find("o")->values);
  testing::expect_numbers({o[0] * 1.0}, Json::array({c.right("D_rowsum_dP_P")}));
}

TEST(Cases, c075_a_sink_takes_its_share_and_has_a_gradient) {
  Case c("c075");
  c.options.scale = 1;
  const double large[] = {c.json["inputs"]["sink"].get<double>()};
  c.options.sinks = large;
  expect_output(c, Json::array({c.right("out")}));
  const auto got = gradients(c, array(Json({{1.0}})));
  EXPECT_NEAR(numbers(got.dsinks)[0], -1.46038605631e-08, 1e-15) << "−p_sink · o, and p_sink is almost 1";
  const double zero[] = {0};
  c.options.sinks = zero;
  expect_output(c, c.right("out_with_sink_0"));
}

TEST(Cases, c090_slopes_counted_from_another_origin_change_nothing) {
  Case c("c090");
  c.v = unit_matrix(3);
  Case sloped = c;
  const double slopes[] = {c.json["inputs"]["slope"].get<double>()};
  sloped.options.slopes = slopes;
  sloped.options.corner = Corner::kBottomRight;
  expect_output(sloped, c.right("weights"));
  for (const char* bias : {"bias_a", "bias_b"}) {
    c.bias = array(Json::array({c.json["inputs"][bias]}), 2);
    expect_output(c, c.right("weights"));
  }
}

TEST(Cases, c091_lse_is_natural_so_that_parts_merge_to_the_whole) {
  const Case c("c091");
  Case first = c, second = c, full = c;
  first.set_scores(Json({1.0, 2.0}));
  first.v = array(Json({{1.0}, {2.0}}));
  second.set_scores(Json({3.0}));
  second.v = array(Json::array({Json::array({5.0})}));
  full.set_scores(Json({1.0, 2.0, 3.0}));
  full.v = array(Json({{1.0}, {2.0}, {5.0}}));
  expect_output(full, Json::array({c.right("equals_full")}));
  for (const Engine& engine : testing::engines()) {
    SCOPED_TRACE(c.where() + ", on " + engine.name);
    const Answer a = compute(engine, first);
    const Answer b = compute(engine, second);
    testing::expect_numbers({a.lse[0], b.lse[0]}, c.right("lse"), engine.dtype);
    const double share = 1 / (1 + std::exp(b.lse[0] - a.lse[0]));
    testing::expect_numbers({share * a.o[0] + (1 - share) * b.o[0]}, Json::array({c.right("merged")}), engine.dtype);
  }
}

TEST(Cases, c093_the_softcap_comes_before_the_mask) {
  Case c("c093");
  c.bias.shape = {1, 3};
  expect_exact_output(c, c.right("out"));
  c.v = unit_matrix(3);
  expect_output(c, c.right("weights"));
}

TEST(Cases, c095_the_softcap_is_c_tanh_x_over_c) {
  Case c("c095");
  c.q = array(Json({{3.0}, {0.5}}));  // two queries, one key: lse is the capped score itself
  c.k = array(Json({{1.0}}));
  c.v = array(Json({{1.0}}));
  expect_lse(c, c.right("capped"));
}

TEST(Cases, c102_zeros_and_a_constant_fail_under_the_bound_in_use) {
  const Case c("c102");
  const auto keys = c.json["inputs"]["m"].get<std::int64_t>();
  const std::vector<float> q(1, 1), k(static_cast<std::size_t>(keys), 0);
  std::vector<float> v(k.size(), 0);
  v[0] = 1;  // o is then one of the equal weights
  const Dims shape{1, 1, keys, 1};
  const AttentionInputs inputs{View<const float>(q.data(), {1, 1, 1, 1}), View<const float>(k.data(), shape),
                               View<const float>(v.data(), shape)};
  const auto expected = check::expect_forward(inputs, {}, DType::kF32);
  ASSERT_TRUE(expected.is_ok()) << expected.status().message();
  testing::expect_numbers(numbers(expected->want.o), c.json["inputs"]["value"]);
  const auto passes = [&](float answer) {
    return check::compare(View<const float>(&answer, {1, 1, 1, 1}), expected->want.o.view(), expected->o)->passed;
  };
  EXPECT_FALSE(passes(0));
  EXPECT_FALSE(passes(1));
  EXPECT_TRUE(passes(static_cast<float>(c.json["inputs"]["value"].get<double>())));
}

}  // namespace
}  // namespace qkv
