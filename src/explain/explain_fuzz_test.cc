// Broken and hostile requests: always an answer or a message, never a crash.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "qkv/explain.h"
#include "src/explain/examples.h"
#include "src/explain/json_read.h"

namespace qkv {
namespace {

std::vector<std::string> seeds() {
  std::vector<std::string> all = {
      R"({"example":"bank","set":["v[river]=0,1"],"causal":"offset:1","window":[1,0],"row":"bank"})",
      R"({"example":"backward","backward":true,"softcap":2,"sinks":[0.5],"slopes":[1],"corner":"top_left"})",
      R"({"q":[[[1]],[[2]]],"k":[[[3]]],"v":[[["NaN"]]],"key_mask":[[1]],"bias":[["-Infinity"]],"head":1})",
      R"({"op":"shapes","n":5,"C":8,"heads":2,"kv_heads":1,"D":3,"found":{"wq":[4,8]}})",
      R"({"op":"scores","n":4,"d_k":3,"seed":2,"function":"mix","mix":[1,0.5,2],"divide":false,"targets":[0,1,2,3]})",
      R"({"example":"backward","backward":true,"steps":[0.1,1e-7]})"};
  for (const Example& example : examples()) all.emplace_back(example.text);
  return all;
}

void expect_answer_or_message(const std::string& request) {
  const Result<std::string> answer = explain(request);
  if (answer.is_ok())
    EXPECT_TRUE(Json::accept(*answer)) << request;
  else
    EXPECT_FALSE(answer.status().message().empty()) << request;
}

TEST(ExplainFuzz, survives_bytes_changed_cut_and_repeated) {
  std::mt19937 random(7);
  const std::vector<std::string> originals = seeds();
  const std::string letters = "[]{}\",:0123456789.-+eE \\nullt\xff\xc3\x80";
  for (int round = 0; round < 6000; ++round) {
    std::string text = originals[random() % originals.size()];
    for (auto change = random() % 4 + 1; change > 0 && !text.empty(); --change) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = letters[random() % letters.size()]; break;
        case 1: text.erase(at, random() % 9); break;
        case 2: text.insert(at, text.substr(random() % text.size(), random() % 30)); break;
        default: text.insert(at, 1, letters[random() % letters.size()]);
      }
    }
    expect_answer_or_message(text);
  }
}

// Values that are legal JSON and mostly wrong.
Json odd_value(std::mt19937& random) {
  static const char* const kOdd[] = {"null",
                                     "true",
                                     "-1",
                                     "0",
                                     "1e300",
                                     "\"\"",
                                     "\"x\"",
                                     "[]",
                                     "{}",
                                     "[[]]",
                                     "[[[[[]]]]]",
                                     "[[1,2],[3]]",
                                     "[[0]]",
                                     "[1,2,3]",
                                     "[[1e300]]",
                                     "[[\"NaN\"]]",
                                     "[[[[1,2]]]]",
                                     "[[[[1]]],[[[2]]]]",
                                     "9223372036854775807",
                                     "18446744073709551615",
                                     "[\"v[0]=1\"]",
                                     "[9223372036854775807,-9223372036854775807]",
                                     "{\"en\":[\"a\"]}",
                                     "[[\"Infinity\"]]"};
  return Json::parse(kOdd[random() % std::size(kOdd)]);
}

TEST(ExplainFuzz, survives_every_field_with_a_value_of_the_wrong_kind_or_size) {
  static const char* const kFields[] = {"op",
                                        "d_k",
                                        "seed",
                                        "function",
                                        "mix",
                                        "divide",
                                        "targets",
                                        "steps",
                                        "example",
                                        "source",
                                        "tokens",
                                        "key_tokens",
                                        "value_axes",
                                        "row",
                                        "head",
                                        "batch",
                                        "scale",
                                        "softcap",
                                        "causal",
                                        "corner",
                                        "window",
                                        "keep",
                                        "key_mask",
                                        "bias",
                                        "key_lengths",
                                        "slopes",
                                        "sinks",
                                        "step",
                                        "backward",
                                        "d_output",
                                        "cu_seqlens_q",
                                        "cu_seqlens_k",
                                        "set",
                                        "q",
                                        "k",
                                        "v",
                                        "x",
                                        "gamma",
                                        "beta",
                                        "wq",
                                        "wk",
                                        "wv",
                                        "bq",
                                        "bk",
                                        "bv",
                                        "wqkv",
                                        "bqkv",
                                        "wo",
                                        "bo",
                                        "heads",
                                        "kv_heads",
                                        "norm",
                                        "eps",
                                        "n",
                                        "C",
                                        "D",
                                        "Dv",
                                        "B",
                                        "T",
                                        "found",
                                        "preset"};
  std::mt19937 random(11);
  const std::vector<std::string> originals = seeds();
  for (int round = 0; round < 6000; ++round) {
    Json request = Json::parse(originals[random() % originals.size()]);
    for (auto change = random() % 3 + 1; change > 0; --change)
      request[kFields[random() % std::size(kFields)]] = odd_value(random);
    expect_answer_or_message(request.dump());
  }
}

}  // namespace
}  // namespace qkv
