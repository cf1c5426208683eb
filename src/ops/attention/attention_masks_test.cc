// Every kind of mask alone, in pairs and at every corner, on every target.
#include <gtest/gtest.h>

#include "tests/attention_features.h"
#include "tests/attention_testing.h"

namespace qkv {
namespace {

const char* const kCorners[] = {"top_left", "bottom_right", "offset:2", "offset:-3", "offset:1000", "offset:-1000"};
const char* const kLengths[] = {"T5x9", "T9x5", "T49x70", "T70x49", "T1x130", "T97x64"};

TEST(AttentionMasks, causal_at_every_corner) {
  for (const char* lengths : kLengths)
    for (const char* corner : kCorners) expect_right("attention H2 " + std::string(lengths) + " D8/5 causal=" + corner);
}

TEST(AttentionMasks, plain_causal_where_queries_are_as_many_as_keys) {
  for (const int length : {1, 2, 15, 16, 17, 48, 49, 63, 64, 65, 130})
    expect_right("attention T" + std::to_string(length) + " D8 causal");
}

TEST(AttentionMasks, windows_of_every_kind_at_every_corner) {
  for (const char* window : {"0,0", "2,0", "0,2", "-1,0", "0,-1", "-1,3", "70,-1", "63,1", "9223372036854775807,0"})
    for (const char* corner : kCorners)
      for (const char* lengths : {"T5x9", "T70x49", "T49x130"})
        expect_right("attention " + std::string(lengths) + " D8/5 corner=" + corner + " window=" + window);
}

TEST(AttentionMasks, a_window_needs_no_causal_and_joins_it) {
  for (const char* window : {"3,0", "3,2", "-1,2", "64,64"})
    for (const char* corner : kCorners)
      expect_right("attention T49x70 D8/5 causal=" + std::string(corner) + " window=" + window);
}

TEST(AttentionMasks, a_keep_mask_of_every_broadcast) {
  for (const char* shape : {"70", "1", "49x70", "49x1", "1x70", "6x49x70", "6x1x70", "1x49x70", "6x49x1", "2x6x49x70",
                            "2x1x49x70", "1x6x1x70", "2x1x1x70", "2x6x1x1", "1x1x1x1", "2x1x49x1"})
    expect_right("attention B2 H6/2 T49x70 D7/4 keep=" + std::string(shape));
}

TEST(AttentionMasks, a_key_mask_and_key_lengths) {
  expect_right("attention B3 H2 T17x130 D7/4 key_mask");
  for (const char* lengths : {"0,1,130", "64,65,63", "130,130,130", "0,0,0"})
    for (const char* rest : {"", " causal=bottom_right", " causal=top_left", " key_mask",
                             " corner=bottom_right window=3,1", " corner=bottom_right slopes", " causal=offset:5"})
      expect_right("attention B3 H2 T17x130 D7/4 lengths=" + std::string(lengths) + rest);
}

TEST(AttentionMasks, key_lengths_of_b_equal_to_tq_are_not_a_row_mask) {
  expect_right("attention B5 H2 T5 D4 lengths=1,2,3,4,5");
  expect_right("attention B5 H2 T5 D4 key_mask");
}

TEST(AttentionMasks, packed_sequences_do_not_leak) {
  for (const char* starts :
       {"cu_q=0,49 cu_k=0,70", "cu_q=0,1,1,20,49 cu_k=0,3,9,9,70", "cu_q=0,0,49,49 cu_k=0,10,70,70",
        "cu_q=0,16,32,48,49 cu_k=0,16,32,48,70", "cu_q=0,24,49 cu_k=0,64,70"})
    for (const char* rest : {"", " causal=top_left", " causal=bottom_right", " corner=bottom_right window=4,2",
                             " bias=1x70", " keep=49x70", " corner=top_left slopes", " lengths=60", " causal=offset:1"})
      expect_right("attention H4/2 T49x70 D7/4 " + std::string(starts) + rest);
}

TEST(AttentionMasks, a_bias_of_every_broadcast) {
  for (const char* shape :
       {"70", "1", "49x70", "49x1", "6x49x70", "6x1x70", "6x1x1", "2x6x49x70", "2x1x1x70", "1x6x1x70"})
    for (const char* type : {"", " f64", " bf16"})
      expect_right("attention B2 H6/2 T49x70 D7/4 bias=" + std::string(shape) + type);
}

TEST(AttentionMasks, minus_infinity_in_the_bias_hides) {
  check::GenerateOptions some;
  some.hidden_bias = 0.3;
  check::GenerateOptions all;
  all.hidden_bias = 1;
  for (const char* type : {"", " f64", " bf16", " f16"})
    for (const check::GenerateOptions& hidden : {some, all}) {
      expect_right("attention H2 T49x70 D7/4 bias=2x49x70" + std::string(type), hidden);
      expect_right("attention H2 T49x70 D7/4 bias=70 causal=top_left softcap=5 sinks" + std::string(type), hidden);
    }
}

TEST(AttentionMasks, a_bias_may_have_another_floating_type_than_q) {
  check::Case c = case_of("attention H2 T5x70 D7/4 bias=2x5x70");
  for (const DType type : {DType::kF64, DType::kBF16, DType::kF16}) {
    const Tensor other = must(converted(c.bias.view, type));
    c.bias = must(check::place(other.view()));
    expect_right(c);
  }
}

TEST(AttentionMasks, a_keep_mask_may_be_bytes) {
  check::Case c = case_of("attention H2 T5x70 D7/4 keep=5x70");
  const Ran bools = run_case(c, {});
  c.keep.view.dtype = DType::kU8;
  EXPECT_EQ(run_case(c, {}).o_bits(), bools.o_bits());
  expect_right(c);
}

TEST(AttentionMasks, a_finite_bias_is_never_a_mask) {
  // pytorch/pytorch#110213: the lowest finite bias on every key of row 0 leaves the mean of v, neither NaN nor 0.
  for (const double lowest : {-3.40282346639e+38, -1e30}) {
    const double values[] = {1, 2, 6};
    check::Case c = case_of("attention T2x3 D1 scale=1 bias=2x3");
    for (std::int64_t j = 0; j < 3; ++j) {
      set_element(c.v.view, j, values[j]);
      set_element(c.bias.view, j, lowest);
    }
    for (const Target target : available_targets()) {
      const Ran ran = run_case(c, on(target));
      EXPECT_NEAR(element_as_double(ran.outputs.o.view, 0), 3, 1e-6) << to_string(target);
    }
  }
}

TEST(AttentionMasks, rows_without_a_key_are_zero_with_lse_minus_infinity) {
  const check::Case c = case_of("attention H2 T7x5 D3 causal=bottom_right");
  for (const Target target : available_targets()) {
    const Ran ran = run_case(c, on(target));
    for (std::int64_t row = 0; row < 2; ++row) {
      for (std::int64_t column = 0; column < 3; ++column)
        EXPECT_EQ(element_as_double(ran.outputs.o.view, row * 3 + column), 0);
      EXPECT_EQ(element_as_double(ran.outputs.lse.view, row), -std::numeric_limits<double>::infinity());
    }
  }
}

TEST(AttentionMasks, every_two_features_hold_together) {
  for_each_pair([](const Problem& problem) { expect_right(problem); });
}

TEST(AttentionMasks, every_two_features_hold_together_in_the_other_types) {
  for_each_pair_in_other_types([](const Problem& problem) { expect_right(problem); });
}

TEST(AttentionMasks, everything_at_once) {
  for (const char* type : {"f32", "f64", "bf16", "f16"})
    expect_right(
        "attention B2 H6/2 T37x70 D7/11 causal=bottom_right window=40,5 keep=2x1x37x70 key_mask bias=6x1x70 "
        "lengths=66,41 slopes sinks scale=0.3 softcap=4 bthd " +
        std::string(type));
}

}  // namespace
}  // namespace qkv
