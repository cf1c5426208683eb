// Scale, softcap, sinks and slopes, and scores up to the end of the type's range, on every target.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/attention_testing.h"

namespace qkv {
namespace {

const char* const kTypes[] = {"", " f64", " bf16", " f16"};

TEST(AttentionTerms, any_finite_scale) {
  for (const char* type : kTypes)
    for (const char* scale : {"1", "0.5", "0", "-0", "-1", "-0.125", "3", "1e-20", "1e-45", "-1e-300", "1e-7"})
      expect_right("attention H2 T17x70 D8/5 scale=" + std::string(scale) + type);
}

TEST(AttentionTerms, a_scale_of_zero_gives_the_mean) {
  const check::Case c = case_of("attention T3x4 D2/1 scale=0 f64");
  const auto* v = static_cast<const double*>(c.v.view.data);
  for (const Target target : available_targets())
    EXPECT_NEAR(element_as_double(run_case(c, on(target)).outputs.o.view, 0), (v[0] + v[1] + v[2] + v[3]) / 4, 1e-15);
}

TEST(AttentionTerms, softcap_comes_after_the_scale_and_before_bias_and_mask) {
  for (const char* type : kTypes)
    for (const char* cap : {"0.1", "1", "30", "1e4"})
      for (const char* rest :
           {"", " bias=70", " causal=bottom_right", " scale=20", " sinks", " keep=17x70 slopes corner=top_left"})
        expect_right("attention H2 T17x70 D8/5 softcap=" + std::string(cap) + rest + type);
}

TEST(AttentionTerms, a_small_score_keeps_its_digits_under_a_softcap) {
  expect_right("attention T17x70 D8 softcap=30 scale=1e-4");
  expect_right("attention T17x70 D8 softcap=1e30");
  expect_right("attention T17x70 D8 softcap=1e-30");
}

TEST(AttentionTerms, sinks_join_the_sum_and_carry_no_value) {
  for (const char* type : kTypes)
    for (const char* rest : {"", " causal=bottom_right", " causal=offset:-3", " keep=17x70", " softcap=2", " scale=0"})
      expect_right("attention B2 H6/2 T17x70 D8/5 sinks" + std::string(rest) + type);
}

TEST(AttentionTerms, a_sink_of_any_size) {
  check::Case c = case_of("attention H6 T5x7 D3 sinks");
  c.sinks = {0, 80, -80, 1e30, -std::numeric_limits<double>::infinity(), -1e300};
  expect_right(c);
  const double kInf = std::numeric_limits<double>::infinity();
  c.sinks.assign(6, -kInf);
  check::Case none = case_of("attention H6 T5x7 D3");
  for (const Target target : available_targets())
    EXPECT_EQ(run_case(c, on(target)).outputs.lse.view.shape, run_case(none, on(target)).outputs.lse.view.shape);
}

TEST(AttentionTerms, slopes_at_every_corner) {
  for (const char* type : kTypes)
    for (const char* corner : {"top_left", "bottom_right", "offset:5", "offset:-40"})
      for (const char* lengths : {"T17x70", "T70x17", "T1x130"})
        expect_right("attention H8/2 " + std::string(lengths) + " D8/5 slopes corner=" + corner + type);
}

TEST(AttentionTerms, slopes_of_either_sign_and_none) {
  check::Case c = case_of("attention H4 T17x70 D8 slopes corner=bottom_right");
  c.slopes = {0, -0.25, 2, 1e-3};
  expect_right(c);
}

TEST(AttentionTerms, a_bias_is_not_multiplied_by_the_scale) {
  expect_right("attention T5x7 D4 scale=1e-3 bias=5x7");
  expect_right("attention T5x7 D4 scale=100 bias=5x7");
}

// A problem of width 1 whose scores are q_i k_j: numbers in, reference out.
struct Scores {
  std::vector<double> q, k;
  double scale = 1;
};

void expect_scores(const Scores& scores, const std::string& words) {
  const auto queries = static_cast<std::int64_t>(scores.q.size());
  const auto keys = static_cast<std::int64_t>(scores.k.size());
  Problem problem = problem_of("attention T" + std::to_string(queries) + "x" + std::to_string(keys) + " D1/3" + words);
  problem.scale = scores.scale;
  check::Case c = must(check::generate(problem));
  for (std::int64_t i = 0; i < queries; ++i) set_element(c.q.view, i, scores.q[static_cast<std::size_t>(i)]);
  for (std::int64_t j = 0; j < keys; ++j) set_element(c.k.view, j, scores.k[static_cast<std::size_t>(j)]);
  const reference::AttentionResult want = must(reference::attention_forward(c.inputs(), c.options()));
  for (const Target target : available_targets()) {
    const Ran ran = run_case(c, on(target));
    // The scores lie far apart or are equal: weights are 0, 1 or a simple share, whatever rounding does.
    const double step = check::ulp(problem.dtype, 4);
    const auto o = must(check::compare(ran.outputs.o.view, want.o.view(), {.absolute = 4 * step}));
    EXPECT_TRUE(o.passed) << format(problem) << " on " << to_string(target) << " o: " << to_string(o);
    const double digits = problem.dtype == DType::kF64 ? 1e-14 : 1e-6;
    const auto lse = must(check::compare(ran.outputs.lse.view, want.lse.view(),
                                         {.absolute = std::numeric_limits<double>::infinity(), .relative = digits}));
    EXPECT_TRUE(lse.passed) << format(problem) << " on " << to_string(target) << " lse: " << to_string(lse);
  }
}

// 1.59e38 · log2 e is 2.3e38, near the largest f32 (3.4e38); the difference of two such scores is beyond it.
TEST(AttentionRange, scores_up_to_the_end_of_f32) {
  for (const char* words : {"", " causal=bottom_right", " sinks", " softcap=1e38", " bias=1"}) {
    expect_scores({{1, -1, 0}, {1.59e38, -1.59e38, 1e38, 0, 5}}, words);
    expect_scores({{1, -1}, {-1.59e38, -1.58e38, -1e38}}, words);
    expect_scores({{1}, {1.59e38}}, words);
    expect_scores({{1}, {-1.59e38}}, words);
    expect_scores({{1e19, -1e19, 1}, {1.5e19, -1.5e19, 1e-30}}, words);
    expect_scores({{1e10, 1e5}, {1e10, 1e10, -1e10, 1e-12}}, words);
  }
}

TEST(AttentionRange, scores_up_to_the_end_of_f64) {
  for (const char* words : {" f64", " f64 causal=bottom_right", " f64 sinks"}) {
    expect_scores({{1, -1, 0}, {8e307, -8e307, 1e307, 0, 5}}, words);
    expect_scores({{1e150}, {8e157, -8e157}}, words);
  }
}

TEST(AttentionRange, scores_up_to_the_end_of_the_half_types) {
  expect_scores({{1, -1, 0}, {1.5e38, -1.5e38, 1e38, 0, 5}}, " bf16");
  expect_scores({{60000, -60000, 0}, {60000, -60000, 1, 0}}, " f16");
}

TEST(AttentionRange, rows_that_grow_from_tile_to_tile) {
  std::vector<double> rising, falling;
  for (int j = 0; j < 200; ++j) {
    rising.push_back(5e35 * j);
    falling.push_back(-5e35 * j);
  }
  expect_scores({{1, -1, 0, 1.5}, rising}, "");
  expect_scores({{1, -1, 0, 1.5}, falling}, "");
}

TEST(AttentionRange, equal_scores_of_any_size_share_alike) {
  for (const double score : {0.0, 1e10, -1e10, 1.5e38, -1.5e38})
    expect_scores({{1, 1, 1}, std::vector<double>(130, score)}, "");
}

TEST(AttentionRange, q_times_scale_may_leave_the_type_as_long_as_the_score_does_not) {
  expect_scores({{1e20, -1e20}, {1e-30, -1e-30}, 1e30}, "");    // q · scale = 1e50
  expect_scores({{1e30, -1e30}, {1e30, -1e30}, 1e-40}, "");     // q · k = 1e60, and the scale is a subnormal
  expect_scores({{1e30, -1e30}, {1e30, -1e30}, 1e-50}, "");     // the scale is 0 in f32
  expect_scores({{1e-20, -1e-20}, {1e-15, -1e-15}, 1e36}, "");  // q · k = 1e-35
  expect_scores({{1e-18, -1e-18}, {1e-18, -1e-18}, 1e39}, "");  // the scale is infinite in f32
  expect_scores({{1e30, 1e-20}, {1e30, -1e30}, 1e-25}, "");     // one query overflows, another sinks
  expect_scores({{3e-5, -3e-5}, {3e-5, -3e-5}, 1e12}, " f16");  // near f16's smallest
  expect_scores({{1e200, -1e200}, {1e-250, -1e-250}, 1e150}, " f64");
}

TEST(AttentionRange, coordinates_of_one_query_may_differ_by_any_factor) {
  check::Case c = case_of("attention T1x3 D2/3 scale=1e-25");
  const double q[] = {1e30, 1e-20};
  const double k[] = {1e30, 1, -1e30, 1, 1e28, 5};
  for (std::int64_t i = 0; i < 2; ++i) set_element(c.q.view, i, q[i]);
  for (std::int64_t i = 0; i < 6; ++i) set_element(c.k.view, i, k[i]);
  const reference::AttentionResult want = must(reference::attention_forward(c.inputs(), c.options()));
  for (const Target target : available_targets()) {
    const auto o = must(check::compare(run_case(c, on(target)).outputs.o.view, want.o.view(), {.absolute = 1e-6}));
    EXPECT_TRUE(o.passed) << to_string(target) << " " << to_string(o);
  }
}

TEST(AttentionRange, the_exponential_keeps_its_digits_far_below_the_maximum) {
  // A weight of exp(s) beside one of 1, made visible by a value of exp(−s). The score s itself is rounded once, so the
  // weight has a relative error of |s| / 2^24.
  check::Case c = case_of("attention T1x2 D1 scale=1");
  for (const double low : {-5.0, -20.0, -60.0, -87.0}) {
    set_element(c.q.view, 0, 1);
    set_element(c.k.view, 0, 0);
    set_element(c.k.view, 1, low);
    set_element(c.v.view, 0, 0);
    set_element(c.v.view, 1, std::exp(-low));
    for (const Target target : available_targets())
      EXPECT_NEAR(element_as_double(run_case(c, on(target)).outputs.o.view, 0), 1 / (1 + std::exp(low)),
                  1e-6 - low * 0x1p-24)
          << to_string(target) << " at " << low;
  }
}

}  // namespace
}  // namespace qkv
