// The lines of a decode, a layer and a layernorm: what they say, that they round-trip, and what belongs to which.
#include <gtest/gtest.h>

#include <string>

#include "qkv/problem.h"

namespace qkv {
namespace {

Problem read(const std::string& line) {
  const Result<Problem> problem = parse_any_problem(line);
  EXPECT_TRUE(problem.is_ok()) << line << ": " << problem.status().message();
  return problem.is_ok() ? *problem : Problem{};
}

std::string error_of(const std::string& line) {
  const Result<Problem> problem = parse_any_problem(line);
  EXPECT_FALSE(problem.is_ok()) << line;
  return problem.status().message();
}

TEST(ProblemOperations, a_layer_has_words_for_what_is_around_its_heads) {
  const Problem layer =
      read("layer B2 H4/2 T5 D6 C20/11 norm fused biases eps=0.001 spread=0.5 shift=30 causal backward");
  EXPECT_EQ(layer.operation, Operation::kLayer);
  EXPECT_EQ(layer.layer, (LayerWords{20, 11, true, true, true, 0.001, 0.5, 30}));
  EXPECT_EQ(layer.query_heads, 4);
  EXPECT_EQ(layer.key_length, 5);
  EXPECT_TRUE(layer.backward);
}

TEST(ProblemOperations, a_decode_stands_at_the_bottom_right_corner) {
  const Problem decode = read("decode H6/2 T1x5 D7/11 window=2,0");
  EXPECT_EQ(decode.causality, Causality::kCausal);
  EXPECT_EQ(decode.corner, Corner::kBottomRight);
}

TEST(ProblemOperations, a_layernorm_always_has_its_norm) { EXPECT_TRUE(read("layernorm T3 C11").layer.norm); }

TEST(ProblemOperations, lines_round_trip) {
  for (const char* line : {"decode B2 H6/2 T1x5 D7/11 window=2,0 lengths=5,3 sinks bf16 lse seed=3",
                           "layer B2 H4/2 T5 D6 C20/11 norm fused biases eps=0.001 spread=0.5 shift=30 causal key_mask "
                           "softcap=2 f16 backward",
                           "layer B1 H1 T1 D1 C1", "layernorm B2 T3 C11 eps=0 shift=-4 f64 backward seed=9"}) {
    EXPECT_EQ(format(read(line)), line);
    EXPECT_EQ(read(format(read(line))), read(line));
  }
}

TEST(ProblemOperations, a_word_of_another_operation_is_refused_by_its_name) {
  EXPECT_EQ(error_of("layernorm T3 C4 H2"), "problem: 'H2' is no word of layernorm");
  EXPECT_EQ(error_of("decode T1x3 D4 causal"), "problem: 'causal' is no word of decode");
  EXPECT_EQ(error_of("layer T3 D4 C8 bthd"), "problem: 'bthd' is no word of layer");
  EXPECT_EQ(error_of("attention T3 D4 C8"), "problem: 'C8' is no word of attention");
}

TEST(ProblemOperations, contradictions_are_told) {
  EXPECT_EQ(error_of("layer T3x5 D4 C8"), "problem: T3x5: a layer has one length");
  EXPECT_EQ(error_of("layer T3 D4/5 C8 fused"),
            "problem: fused: v is as wide as q and k in one matrix, and D4/5 are two");
  EXPECT_EQ(error_of("layer T3 D4 C8 eps=0.1"), "problem: eps belongs to the norm; add norm");
  EXPECT_EQ(error_of("layernorm T3 C8/4"), "problem: C: the result of a layernorm is as wide as x; give one number");
  EXPECT_EQ(error_of("decode T5x3 D4"),
            "problem: T5x3: the new tokens of a decode, at least one, are among all of them");
  EXPECT_EQ(error_of("decode T2x5 D4 lengths=1"), "problem: lengths: an entry has 1 tokens, fewer than the 2 new ones");
}

TEST(ProblemOperations, where_attention_is_meant_nothing_else_is_read) {
  const Result<Problem> problem = parse_problem("layer T3 D4 C8");
  ASSERT_FALSE(problem.is_ok());
  EXPECT_EQ(problem.status().message(), "problem: expected 'attention' first, found 'layer'");
}

}  // namespace
}  // namespace qkv
