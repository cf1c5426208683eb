// The line of a Problem: what it says, that it round-trips, and the sentence for each word that is wrong.
#include "qkv/problem.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "src/check/random_problem.h"

namespace qkv {
namespace {

std::string error_of(std::string_view text) {
  const Result<Problem> problem = parse_problem(text);
  EXPECT_FALSE(problem.is_ok()) << text;
  if (problem.is_ok()) return "";
  EXPECT_EQ(problem.code(), StatusCode::kInvalidArgument);
  return problem.status().message();
}

TEST(Problem, reads_every_word_into_its_field) {
  const Result<Problem> result = parse_problem(
      "attention B2 H6/2 T3x5 D7/11 causal=offset:-2 window=2,0 keep=2x1x3x5 key_mask bias=6x3x5 lengths=3,5 slopes "
      "sinks scale=-0.5 softcap=30 bf16 out=f32 bthd lse backward dlse seed=18446744073709551615");
  ASSERT_TRUE(result.is_ok()) << result.status().message();
  Problem want;
  want.batch = 2;
  want.query_heads = 6;
  want.kv_heads = 2;
  want.query_length = 3;
  want.key_length = 5;
  want.width = 7;
  want.value_width = 11;
  want.causality = Causality::kCausal;
  want.corner = Corner::kOffset;
  want.offset = -2;
  want.window = {2, 0};
  want.keep = Dims{2, 1, 3, 5};
  want.key_mask = true;
  want.bias = Dims{6, 3, 5};
  want.key_lengths = {3, 5};
  want.slopes = want.sinks = true;
  want.scale = -0.5;
  want.softcap = 30;
  want.dtype = DType::kBF16;
  want.out_dtype = DType::kF32;
  want.layout = Layout::kBTHD;
  want.lse = want.backward = want.dlse = true;
  want.seed = ~std::uint64_t{0};
  EXPECT_EQ(*result, want);
}

TEST(Problem, words_may_come_in_any_order_and_spacing) {
  const Result<Problem> one = parse_problem("  attention\tseed=7  bf16 T4 causal D8\n");
  const Result<Problem> other = parse_problem("attention B1 H1 T4 D8 causal bf16 seed=7");
  ASSERT_TRUE(one.is_ok() && other.is_ok());
  EXPECT_EQ(*one, *other);
}

TEST(Problem, one_number_means_both_and_a_missing_size_means_one) {
  const Result<Problem> problem = parse_problem("attention H6 T3");
  ASSERT_TRUE(problem.is_ok());
  EXPECT_EQ(format(*problem), "attention B1 H6 T3 D1");
  EXPECT_EQ(problem->kv_heads, 6);
  EXPECT_EQ(problem->key_length, 3);
}

TEST(Problem, format_writes_the_line_that_was_read) {
  for (const char* line : {
           "attention B2 H6/2 T3x5 D7/11 causal=bottom_right window=2,0 bf16 seed=7",
           "attention B1 H1 T0x5 D1",
           "attention B0 H0 T0 D1",
           "attention B1 H2 T4 D8 causal",
           "attention B1 H2 T4x9 D8 corner=offset:-3 window=-1,2",
           "attention B1 H2 T4x9 D8 corner=top_left slopes sinks",
           "attention B1 H1 T3x5 D2 causal=top_left cu_q=0,2,3 cu_k=0,2,5",
           "attention B1 H1 T3x5 D2 scale=0.1 softcap=1e-300 f64",
           "attention B1 H1 T3x5 D2 scale=-0 f16 out=f32 lse backward",
       }) {
    const Result<Problem> problem = parse_problem(line);
    ASSERT_TRUE(problem.is_ok()) << problem.status().message();
    EXPECT_EQ(format(*problem), line);
  }
}

TEST(Problem, every_valid_problem_survives_format_and_parse) {
  EXPECT_TRUE(rc::check([] {
    const auto choices =
        *rc::gen::container<std::vector<std::uint32_t>>(check::kProblemChoices, rc::gen::arbitrary<std::uint32_t>());
    const Problem problem = check::problem_from_choices(choices);
    const std::string line = format(problem);
    const Result<Problem> back = parse_problem(line);
    if (!back.is_ok()) RC_FAIL(line + ": " + back.status().message());
    if (!(*back == problem)) RC_FAIL(line + " came back as " + format(*back));
  }));
}

TEST(Problem, every_scale_survives_to_the_last_bit) {
  EXPECT_TRUE(rc::check([](double scale) {
    RC_PRE(std::isfinite(scale));
    Problem problem;
    problem.scale = scale;
    const Result<Problem> back = parse_problem(format(problem));
    RC_ASSERT(back.is_ok());
    RC_ASSERT(*back->scale == scale);
  }));
}

TEST(Problem, no_text_crashes_the_parser_and_every_refusal_says_why) {
  const std::vector<std::string> pieces = {
      "attention", " ",      "B2",   "H6/2", "T3x5",    "D7",     "causal",   "=",       "top_left", "offset:", "-",
      "99999999",  "window", "keep", "bias", "lengths", "cu_q",   "cu_k",     "0,2,3",   "x",        "/",       ",",
      "scale=",    "1e999",  "nan",  "bf16", "out=f32", "slopes", "backward", "softcap", "\n",       "\xff",    "seed"};
  EXPECT_TRUE(rc::check([&] {
    const auto parts = *rc::gen::container<std::vector<std::string>>(
        rc::gen::oneOf(rc::gen::elementOf(pieces), rc::gen::arbitrary<std::string>()));
    std::string text = *rc::gen::elementOf(std::vector<std::string>{"", "attention "});
    for (const std::string& part : parts) text += part;
    const Result<Problem> problem = parse_problem(text);
    if (problem.is_ok())
      RC_ASSERT(*parse_problem(format(*problem)) == *problem);
    else
      RC_ASSERT(problem.status().message().starts_with("problem: "));
  }));
}

TEST(Problem, the_operation_comes_first) {
  EXPECT_EQ(error_of(""), "problem: expected 'attention' first, found nothing");
  EXPECT_EQ(error_of("atention T5"), "problem: expected 'attention' first, found 'atention'");
}

TEST(Problem, an_unknown_word_is_named_with_the_nearest_known_one) {
  EXPECT_EQ(error_of("attention causl=top_left"), "problem: unknown word 'causl=top_left'; did you mean 'causal'?");
  EXPECT_EQ(error_of("attention key-mask"), "problem: unknown word 'key-mask'; did you mean 'key_mask'?");
  EXPECT_EQ(error_of("attention bf17"), "problem: unknown word 'bf17'; did you mean 'bf16'?");
  EXPECT_TRUE(error_of("attention dropout=0.1")
                  .starts_with("problem: unknown word 'dropout=0.1'; the words are: B H T D causal corner window "));
  EXPECT_LT(error_of("attention " + std::string(100000, 'z')).size(), 500U);
}

TEST(Problem, a_repeated_word_is_named_with_the_earlier_one) {
  EXPECT_EQ(error_of("attention B2 B2"), "problem: 'B2' and 'B2' say the same thing twice; keep one");
  EXPECT_EQ(error_of("attention bf16 f16"), "problem: 'f16' and 'bf16' say the same thing twice; keep one");
  EXPECT_EQ(error_of("attention bthd bhtd"), "problem: 'bhtd' and 'bthd' say the same thing twice; keep one");
}

TEST(Problem, a_malformed_word_is_shown_beside_its_form) {
  EXPECT_EQ(error_of("attention T3,5"),
            "problem: 'T3,5' is malformed; expected T3x5 (query length x key length) or T5");
  for (const char* word : {"B",
                           "B-1",
                           "B2x",
                           "B+2",
                           "B99999999999999999999",
                           "H6/",
                           "H/2",
                           "T3x",
                           "T3x5x7",
                           "D7/11/2",
                           "causal=",
                           "causal=left",
                           "causal=offset:",
                           "causal=offset:1.5",
                           "corner",
                           "corner=middle",
                           "window",
                           "window=2",
                           "window=2,0,1",
                           "window=-2,0",
                           "window=a,b",
                           "keep=",
                           "keep=2x",
                           "keep=1x1x1x1x1",
                           "bias=-1",
                           "lengths=",
                           "lengths=1,",
                           "lengths=1,-1",
                           "cu_q=",
                           "key_mask=1",
                           "slopes=8",
                           "sinks=",
                           "scale=",
                           "scale=nan",
                           "scale=inf",
                           "scale=1e999",
                           "scale=0.5x",
                           "softcap=0",
                           "softcap=-1",
                           "f32=1",
                           "out=bf16",
                           "out",
                           "bthd=",
                           "lse=1",
                           "backward=1",
                           "dlse=1",
                           "seed=-1",
                           "seed=18446744073709551616",
                           "seed"}) {
    const std::string message = error_of("attention " + std::string(word));
    EXPECT_TRUE(message.starts_with("problem: '" + std::string(word) + "' is malformed; expected ")) << message;
  }
}

struct Contradiction {
  const char* line;
  const char* message;
};
class ProblemContradiction : public testing::TestWithParam<Contradiction> {};

TEST_P(ProblemContradiction, is_named) {
  EXPECT_EQ(error_of(std::string("attention ") + GetParam().line), std::string("problem: ") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, ProblemContradiction,
    testing::Values(
        Contradiction{"H6/4", "H6/4: the KV heads must divide the query heads"},
        Contradiction{"H6/0", "H6/0: the KV heads must divide the query heads"},
        Contradiction{"D0/5", "D0/5: a width must be at least 1"},
        Contradiction{"B4611686018427387904 T4", "B, H, T and D together name a tensor of more than 2^63 elements"},
        Contradiction{"T3x5 keep=2x5", "keep of shape [2,5] does not broadcast to [B,Hq,Tq,Tk] = [1,1,3,5]"},
        Contradiction{"B2 T3x5 bias=3x1x3x5", "bias of shape [3,1,3,5] does not broadcast to [B,Hq,Tq,Tk] = [2,1,3,5]"},
        Contradiction{"T5 corner=top_left",
                      "corner=top_left has nothing to place; add causal, window=L,R or slopes, or leave it out"},
        Contradiction{"T5 causal corner=top_left",
                      "'corner=top_left' beside 'causal'; the corner belongs to causal: causal=CORNER"},
        Contradiction{"T3x5 causal",
                      "causal, window and slopes depend on positions, and 3 queries with 5 keys leave the corner open; "
                      "say top_left, bottom_right or an offset"},
        Contradiction{"T3x5 window=2,0",
                      "causal, window and slopes depend on positions, and 3 queries with 5 keys leave the corner open; "
                      "say top_left, bottom_right or an offset"},
        Contradiction{"T5 slopes lengths=4",
                      "causal, window and slopes depend on positions, and 5 queries with 4 keys leave the corner open; "
                      "say top_left, bottom_right or an offset"},
        Contradiction{"B2 T5 lengths=3", "key_lengths has 1 entries; expected [B] = 2"},
        Contradiction{"T5 lengths=6", "key_lengths[0] is 6; expected 0 to Tk = 5"},
        Contradiction{"T5 cu_q=0,5", "cu_q needs cu_k beside it"},
        Contradiction{"T5 cu_k=0,5", "cu_k needs cu_q beside it"},
        Contradiction{"T5 cu_q=0,5 cu_k=0,4", "cu_seqlens_k must run from 0 to 5, found 0 to 4"},
        Contradiction{"T5 cu_q=0,5 cu_k=0,3,5", "cu_seqlens_q has 2 entries but cu_seqlens_k 3"},
        Contradiction{"T5 cu_q=0,4,2,5 cu_k=0,1,2,5", "cu_seqlens_q must not decrease, found 4 then 2 at index 2"},
        Contradiction{"B2 T5 cu_q=0,5 cu_k=0,5", "packed sequences need a batch of 1, found B = 2"},
        Contradiction{"T5 causal=offset:9000000000000000000", "offset 9000000000000000000 is beyond 2^60"},
        Contradiction{"out=f32", "out=f32 is for bf16 and f16; the result of f32 has its own type"},
        Contradiction{"dlse", "dlse is a gradient; add backward"}));

}  // namespace
}  // namespace qkv
