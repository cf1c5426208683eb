// Prefill and then decode, token by token or several at a time, gives the rows of one forward.
#include <gtest/gtest.h>

#include "tests/cases.h"
#include "tests/decode_testing.h"

namespace qkv {
namespace {

// Feeds a sequence of T tokens into an empty cache in pieces and holds every row to one causal forward's expectation.
void expect_pieces_right(const std::string& words, const std::vector<std::int64_t>& pieces, std::int64_t page,
                         const Execution& execution) {
  std::int64_t length = 0;
  for (const std::int64_t piece : pieces) length += piece;
  const check::Case c = case_of("attention B2 " + words + " causal T" + std::to_string(length));
  const check::ForwardExpectation expectation =
      must(check::expect_forward(c.inputs(), c.options(), check::output_type(c.problem)));
  Problem problem = c.problem;
  problem.lse = true;
  check::CaseOutputs whole = must(check::make_outputs(problem));

  const check::Case empty =
      case_of("attention B2 " + words + " causal=bottom_right lengths=0,0 T" + std::to_string(length));
  TestCache cache = make_cache(empty, {page, DType::kI64, false});
  for (std::size_t e = 0; e < cache.table64.size(); ++e) cache.table64[e] = static_cast<std::int64_t>(e);
  std::int64_t begin = 0;
  const auto slice = [&](View<void> view, std::int64_t count) {
    view.shape[2] = count;
    view.data =
        static_cast<char*>(view.data) + begin * view.strides[2] * static_cast<std::int64_t>(size_of(view.dtype));
    return view;
  };
  for (const std::int64_t piece : pieces) {
    const DecodeInputs inputs{slice(c.q.view, piece), slice(c.k.view, piece), slice(c.v.view, piece)};
    const AttentionOutputs outputs{slice(whole.o.view, piece), slice(whole.lse.view, piece)};
    const Report report = must(attention_decode(inputs, cache.view(), outputs, decode_options(c), execution));
    begin += piece;
    EXPECT_EQ(report.target, execution.target);
    EXPECT_EQ(cache.lengths, (std::vector<std::int64_t>{begin, begin}));
  }
  const check::ForwardVerdict verdict = must(check::judge(expectation, whole.o.view, whole.lse.view));
  EXPECT_TRUE(verdict.passed()) << format(c.problem) << " on " << to_string(execution.target) << "\n"
                                << to_string(verdict);
}

TEST(DecodeSequence, prefill_and_decode_give_the_rows_of_one_forward) {
  const std::vector<std::int64_t> token_by_token(40, 1);
  for (const Target target : available_targets())
    for (const std::int64_t page : {0, 16, 5})
      for (const char* words : {"H4/2 D16 f32", "H4/1 D32 bf16", "H3/1 D7/11 f64", "H2 D16 f16 window=5,0",
                                "H4/2 D16 f32 slopes sinks softcap=4"}) {
        expect_pieces_right(words, token_by_token, page, on(target));
        expect_pieces_right(words, {37, 1, 1, 1}, page, on(target));
        expect_pieces_right(words, {1, 7, 30, 2, 5}, page, on(target, 2));
      }
}

TEST(DecodeSequence, c096_a_new_token_stands_right_behind_the_last_one) {
  const testing::Case c("c096");
  const testing::Json& inputs = c.json["inputs"];
  for (const Target target : available_targets()) {
    std::vector<float> k = {0, 0, 0, 0}, v = {0, 0, 0, 0};  // four slots of one number
    for (std::size_t j = 0; j < 2; ++j) {
      k[j] = inputs["k_cache_before"][j][0].get<float>();
      v[j] = inputs["v_cache_before"][j][0].get<float>();
    }
    k[2] = k[3] = v[3] = std::numeric_limits<float>::quiet_NaN();
    v[2] = inputs["stale"][0][0].get<float>();
    const float new_k = inputs["new_k"][0][0].get<float>();
    const float new_v = inputs["new_v"][0][0].get<float>();
    const float q = 1;
    float o = 0;
    std::vector<std::int64_t> lengths = {2};
    const Dims one{1, 1, 1, 1};
    const KeyValueCache cache{View<float>(k.data(), {1, 1, 4, 1}), View<float>(v.data(), {1, 1, 4, 1}), {}, lengths};
    must(attention_decode({View<const float>(&q, one), View<const float>(&new_k, one), View<const float>(&new_v, one)},
                          cache, {View<float>(&o, one), {}}, {}, on(target)));
    EXPECT_EQ(o, c.right("out").get<float>()) << c.where();
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(v[j], c.right("slots")[j].get<float>()) << c.where();
    EXPECT_TRUE(std::isnan(v[3]));
    EXPECT_EQ(lengths[0], 3);
  }
}

}  // namespace
}  // namespace qkv
