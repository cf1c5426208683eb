// Gradients under every option: masks, scale, softcap, bias, slopes, sinks, d_lse, and scores of any size.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/attention_backward_testing.h"
#include "tests/attention_features.h"

namespace qkv {
namespace {

const char* const kTypes[] = {"", " f64", " bf16", " f16"};
const char* const kCorners[] = {"top_left", "bottom_right", "offset:2", "offset:-3", "offset:1000", "offset:-1000"};

TEST(GradientMasks, causal_at_every_corner) {
  for (const char* lengths : {"T5x9", "T9x5", "T49x70", "T70x49", "T1x130", "T97x64", "T200x210", "T130x310"})
    for (const char* corner : kCorners)
      expect_right_gradients("attention H2 " + std::string(lengths) + " D8/5 causal=" + corner);
}

TEST(GradientMasks, windows_of_every_kind_at_every_corner) {
  for (const char* window : {"0,0", "2,0", "0,2", "-1,0", "0,-1", "-1,3", "70,-1", "63,1", "9223372036854775807,0"})
    for (const char* corner : kCorners)
      for (const char* lengths : {"T5x9", "T70x49", "T149x230"})
        expect_right_gradients("attention " + std::string(lengths) + " D8/5 corner=" + corner + " window=" + window);
}

TEST(GradientMasks, a_keep_mask_of_every_broadcast) {
  for (const char* shape : {"70", "1", "49x70", "49x1", "1x70", "6x49x70", "6x1x70", "2x6x49x70", "2x1x1x70",
                            "1x6x1x70", "2x6x1x1", "2x1x49x1"})
    expect_right_gradients("attention B2 H6/2 T49x70 D7/4 keep=" + std::string(shape));
}

TEST(GradientMasks, a_key_mask_and_key_lengths) {
  expect_right_gradients("attention B3 H2 T17x130 D7/4 key_mask");
  for (const char* lengths : {"0,1,130", "64,65,63", "130,130,130", "0,0,0"})
    for (const char* rest : {"", " causal=bottom_right", " causal=top_left", " key_mask",
                             " corner=bottom_right window=3,1", " corner=bottom_right slopes", " causal=offset:5"})
      expect_right_gradients("attention B3 H2 T17x130 D7/4 lengths=" + std::string(lengths) + rest);
}

TEST(GradientMasks, packed_sequences_do_not_leak) {
  for (const char* starts :
       {"cu_q=0,49 cu_k=0,70", "cu_q=0,1,1,20,49 cu_k=0,3,9,9,70", "cu_q=0,0,49,49 cu_k=0,10,70,70",
        "cu_q=0,16,32,48,49 cu_k=0,16,32,48,70", "cu_q=0,24,49 cu_k=0,64,70"})
    for (const char* rest : {"", " causal=top_left", " causal=bottom_right", " corner=bottom_right window=4,2",
                             " bias=1x70", " keep=49x70", " corner=top_left slopes", " lengths=60", " causal=offset:1"})
      expect_right_gradients("attention H4/2 T49x70 D7/4 " + std::string(starts) + rest);
  expect_right_gradients("attention H2 T300x600 D8 cu_q=0,100,130,300 cu_k=0,250,300,600 causal=bottom_right");
}

TEST(GradientMasks, every_two_features_hold_together) {
  for_each_pair([](Problem problem) {
    problem.backward = true;
    expect_right_gradients(must(check::generate(problem), format(problem)));
  });
}

TEST(GradientMasks, every_two_features_hold_together_in_the_other_types) {
  for_each_pair_in_other_types([](Problem problem) {
    problem.backward = problem.dlse = true;
    expect_right_gradients(must(check::generate(problem), format(problem)));
  });
}

TEST(GradientMasks, everything_at_once) {
  for (const char* type : kTypes)
    expect_right_gradients(
        "attention B2 H6/2 T37x70 D7/11 causal=bottom_right window=40,5 keep=2x1x37x70 key_mask bias=6x1x70 "
        "lengths=66,41 slopes sinks scale=0.3 softcap=4 bthd dlse" +
        std::string(type));
}

TEST(GradientTerms, a_bias_of_every_broadcast_sums_its_gradient) {
  for (const char* shape : {"70", "1", "149x70", "149x1", "6x149x70", "6x1x70", "6x1x1", "2x6x149x70", "2x1x1x70",
                            "1x6x1x70", "2x1x149x1", "1x1x1x1", "2x6x1x1"})
    for (const char* type : kTypes)
      expect_right_gradients("attention B2 H6/2 T149x70 D7/4 bias=" + std::string(shape) + type);
  expect_right_gradients("attention H2 T150x500 D8 bias=1x150x500");
  expect_right_gradients("attention H2 T150x500 D8 bias=500 causal=bottom_right");
  expect_right_gradients("attention H4 T150x500 D8 bias=4x150x1 cu_q=0,60,150 cu_k=0,260,500");
}

TEST(GradientTerms, minus_infinity_in_the_bias_hides) {
  check::GenerateOptions some, all;
  some.hidden_bias = 0.3;
  all.hidden_bias = 1;
  for (const char* type : kTypes)
    for (const check::GenerateOptions& hidden : {some, all}) {
      expect_right_gradients("attention H2 T49x70 D7/4 bias=2x49x70" + std::string(type), hidden);
      expect_right_gradients("attention H2 T49x70 D7/4 bias=70 causal=top_left softcap=5 sinks" + std::string(type),
                             hidden);
    }
}

TEST(GradientTerms, any_finite_scale) {
  for (const char* type : kTypes)
    for (const char* scale : {"1", "0.5", "0", "-0", "-1", "-0.125", "3", "1e-20", "1e-45", "-1e-300", "1e-7"})
      expect_right_gradients("attention H2 T17x70 D8/5 scale=" + std::string(scale) + type);
}

TEST(GradientTerms, softcap_bends_the_gradient) {
  for (const char* type : kTypes)
    for (const char* cap : {"0.1", "1", "30", "1e4"})
      for (const char* rest :
           {"", " bias=70", " causal=bottom_right", " scale=20", " sinks", " keep=17x70 slopes corner=top_left"})
        expect_right_gradients("attention H2 T17x70 D8/5 softcap=" + std::string(cap) + rest + type);
}

TEST(GradientTerms, sinks_have_a_gradient_and_take_weight) {
  for (const char* type : kTypes)
    for (const char* rest : {"", " causal=bottom_right", " causal=offset:-3", " keep=17x70", " softcap=2", " scale=0"})
      for (const char* from_lse : {"", " dlse"})
        expect_right_gradients("attention B2 H6/2 T17x70 D8/5 sinks" + std::string(rest) + from_lse + type);
}

TEST(GradientTerms, a_sink_of_any_size) {
  check::Case c = case_of("attention H6 T5x7 D3 sinks dlse backward");
  c.sinks = {0, 80, -80, 1e30, -std::numeric_limits<double>::infinity(), -1e300};
  expect_right_gradients(c);
  c.sinks = {25, 31, 33, 50, 100, 20};
  expect_right_gradients(c);
}

TEST(GradientTerms, the_gradient_of_lse_joins) {
  for (const char* type : kTypes)
    for (const char* rest : {"", " causal=bottom_right", " keep=49x70", " bias=49x70 softcap=3"})
      expect_right_gradients("attention H2 T49x70 D8/5 dlse" + std::string(rest) + type);
}

TEST(GradientTerms, slopes_at_every_corner) {
  for (const char* type : kTypes)
    for (const char* corner : {"top_left", "bottom_right", "offset:5", "offset:-40"})
      expect_right_gradients("attention H8/2 T17x70 D8/5 slopes corner=" + std::string(corner) + type);
}

// Whole numbers, so that scores are exact whatever their size and weights are simple shares.
void round_elements(const View<void>& view) {
  for_each_element(view.shape, view.strides,
                   [&](std::int64_t at) { set_element(view, at, std::round(element_as_double(view, at))); });
}

// The gradient from the o and lse of the reference: a forward pass whose scores are rounded would hide what is tested.
void expect_right_from_exact_outputs(const check::Case& c) {
  const reference::AttentionResult exact = must(reference::attention_forward(c.inputs(), c.options()));
  const Tensor o = must(converted(exact.o.view(), check::output_type(c.problem)));
  const Tensor lse = must(converted(exact.lse.view(), check::lse_type(c.problem)));
  const check::BackwardExpectation expectation =
      must(check::expect_backward(c.inputs(), c.d_o.view, c.d_lse.view, c.options(), check::output_type(c.problem)));
  for (const Target target : available_targets()) {
    const check::CaseGradients gradients = must(check::make_gradients(c.problem));
    must(attention_backward({c.q.view, c.k.view, c.v.view, o.view(), lse.view(), c.d_o.view, c.d_lse.view},
                            gradients.views(), c.options(), on(target)));
    const check::BackwardVerdict verdict = must(check::judge(expectation, gradients.views()));
    EXPECT_TRUE(verdict.passed()) << format(c.problem) << " on " << to_string(target) << "\n" << to_string(verdict);
  }
}

// The rounding of lse would spoil these weights: the largest score and the sum of their rows are computed again.
TEST(GradientRange, weights_are_right_for_scores_of_any_size) {
  for (const double scale : {0.25, 8.0, -32.0, 1024.0, 0x1p20, 0x1p33, -0x1p100})
    for (const char* rest : {"", " causal=bottom_right", " sinks dlse", " bias=300", " keep=300", " f64",
                             " bf16 out=f32", " f16 out=f32", " slopes corner=top_left"}) {
      check::Case c = case_of("attention H2 T100x300 D3 backward" + std::string(rest));
      c.problem.scale = scale;
      round_elements(c.q.view);
      round_elements(c.k.view);
      if (c.bias.view.is_present()) round_elements(c.bias.view);
      expect_right_from_exact_outputs(c);
    }
}

TEST(GradientRange, equal_scores_of_any_size_share_alike) {
  for (const double score : {0.0, 40.0, 1e10, -1e10, 1.5e38, -1.5e38}) {
    check::Case c = case_of("attention T3x130 D1/2 scale=1 backward");
    for (std::int64_t i = 0; i < 3; ++i) set_element(c.q.view, i, 1);
    for (std::int64_t j = 0; j < 130; ++j) set_element(c.k.view, j, score);
    for (std::int64_t x = 0; x < 6; ++x) set_element(c.d_o.view, x, 1);
    for (const Target target : available_targets()) {
      const RanBackward ran = run_backward(c, on(target));
      for (std::int64_t x = 0; x < 260; ++x)  // dv = Σ_i p do = 3 / 130
        EXPECT_NEAR(element_as_double(ran.gradients.dv.view, x), 3.0 / 130, 1e-7) << to_string(target) << " " << score;
    }
  }
}

TEST(GradientRange, one_key_has_the_weight_one) {
  for (const char* scale : {"1", "20", "1000", "1e30"})
    expect_right_gradients("attention T7x1 D5 scale=" + std::string(scale));
}

TEST(GradientRange, q_times_scale_may_leave_the_type_as_long_as_the_score_does_not) {
  struct Product {
    double q, k, scale;
  };
  for (const Product& x : {Product{1e20, 1e-30, 1e30},
                           {1e30, 1e30, 1e-40},
                           {1e30, 1e30, 1e-50},
                           {1e-20, 1e-15, 1e36},
                           {1e-18, 1e-18, 1e37}}) {
    check::Case c = case_of("attention T5x9 D2/3 backward");
    c.problem.scale = x.scale;
    for (std::int64_t i = 0; i < 10; ++i) set_element(c.q.view, i, element_as_double(c.q.view, i) * x.q);
    for (std::int64_t i = 0; i < 18; ++i) set_element(c.k.view, i, element_as_double(c.k.view, i) * x.k);
    expect_right_gradients(c);
  }
}

}  // namespace
}  // namespace qkv
