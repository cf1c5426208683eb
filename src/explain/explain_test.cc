// Requests and documents as docs/explain.md describes them.
#include "qkv/explain.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "src/explain/examples.h"
#include "src/explain/json_read.h"
#include "src/explain/symbols.h"

namespace qkv {
namespace {

Json document(const std::string& request) {
  const Result<std::string> answer = explain(request);
  EXPECT_TRUE(answer.is_ok()) << answer.status().message();
  return answer.is_ok() ? Json::parse(*answer) : Json();
}

std::string message_of(const std::string& request) { return explain(request).status().message(); }

Json stage(const Json& document, const std::string& name) {
  for (const Json& each : document["stages"])
    if (each["name"] == name) return each["values"];
  return {};
}

TEST(Explain, has_the_three_examples_inside) {
  ASSERT_EQ(examples().size(), 3U);
  for (const Example& example : examples())
    EXPECT_EQ(document(std::string(example.text))["stages"],
              document("{\"example\":\"" + std::string(example.name) + "\"}")["stages"]);
}

TEST(Explain, lays_a_requests_fields_over_its_example_and_null_removes_one) {
  EXPECT_EQ(document(R"({"example":"bank","v":[[1],[2],[3]],"value_axes":null})")["dims"]["Dv"], 1);
  EXPECT_EQ(document(R"({"example":"bank","tokens":null,"row":0})").contains("tokens"), false);
}

TEST(Explain, treats_two_three_and_four_axes_alike) {
  const Json two = document(R"({"q":[[1,2]],"k":[[3,4]],"v":[[5]]})");
  EXPECT_EQ(two["stages"], document(R"({"q":[[[1,2]]],"k":[[[3,4]]],"v":[[[5]]]})")["stages"]);
  EXPECT_EQ(two["stages"], document(R"({"q":[[[[1,2]]]],"k":[[[[3,4]]]],"v":[[[[5]]]]})")["stages"]);
}

TEST(Explain, is_about_one_batch_entry_masks_and_lengths_included) {
  const std::string request =
      R"("q":[[[[1]]],[[[2]]]],"k":[[[[1],[1]]],[[[3],[4]]]],"v":[[[[1],[2]]],[[[3],[5]]]],"key_lengths":[2,1],)"
      R"("bias":[[[[0,0]]],[[[1,1]]]],"corner":"top_left")";
  const Json second = document("{" + request + R"(,"batch":1})");
  EXPECT_EQ(second["select"]["batch"], 1);
  EXPECT_EQ(second["select"]["batches"], 2);
  EXPECT_EQ(stage(second, "biased"), Json::parse("[[[[7,9]]]]"));
  EXPECT_EQ(stage(second, "masked"), Json::parse(R"([[[[7,"-Infinity"]]]])"));
  EXPECT_EQ(stage(second, "o"), Json::parse("[[[[3]]]]"));
  EXPECT_EQ(message_of("{" + request + R"(,"batch":2})"),
            "explain: batch 2 is outside 0 … 1, the entries that there are");
}

TEST(Explain, looks_at_the_last_row_and_the_first_head_unless_told) {
  const Json plain = document(R"({"example":"running","row":null})");
  EXPECT_EQ(plain["select"]["row"], 4);
  EXPECT_EQ(plain["select"]["head"], 0);
  const Json told = document(R"({"example":"running","row":"climb","head":1})");
  EXPECT_EQ(told["select"]["row"], 2);
  EXPECT_EQ(told["select"]["head"], 1);
  EXPECT_NE(plain["reading"], told["reading"]);
  EXPECT_EQ(message_of(R"({"example":"running","head":2})"), "explain: head 2 is outside 0 … 1");
}

TEST(Explain, reads_each_row_by_falling_weight) {
  const Json row = document(R"({"example":"bank"})")["reading"][1];
  EXPECT_EQ(row["keys"], Json({2, 1, 0}));
  EXPECT_NEAR(row["cumulative"][1].get<double>(), 0.92568, 1e-5);
}

TEST(Explain, edits_a_row_an_entry_and_a_token_of_the_head_that_is_looked_at) {
  const Json bank = document(R"({"example":"bank","set":["v[river]=0,1","q[1,0]=2"]})");
  EXPECT_EQ(stage(bank, "v"), Json::parse("[[[[1,0],[0.5,0.5],[0,1]]]]"));
  EXPECT_EQ(stage(bank, "q"), Json::parse("[[[[2,0],[2,2],[0,1]]]]"));
  EXPECT_EQ(bank["edits"][0]["before"], Json({1.0, 0.0}));
  EXPECT_EQ(bank["edits"][1]["column"], 0);
  const Json second = document(R"({"q":[[[1]],[[2]]],"k":[[[3]]],"v":[[[4]]],"head":1,"set":["q[0]=9","k[0]=8"]})");
  EXPECT_EQ(stage(second, "q"), Json::parse("[[[[1]],[[9]]]]"));
  EXPECT_EQ(stage(second, "k"), Json::parse("[[[[8]]]]"));
  const Json grouped = document(R"({"q":[[[1]],[[2]],[[3]],[[4]]],"k":[[[5]],[[6]]],"v":[[[7]],[[8]]],"head":1,
                                    "set":["q[0]=0","k[0]=0"]})");
  EXPECT_EQ(stage(grouped, "q"), Json::parse("[[[[1]],[[0]],[[3]],[[4]]]]"));
  EXPECT_EQ(stage(grouped, "k"), Json::parse("[[[[0]],[[6]]]]"));  // heads 0 and 1 share the first
  const Json layer = document(R"({"example":"running","set":["wq[0,3]=0.5","x[the]=1,2,3,4"]})");
  EXPECT_EQ(stage(layer, "wq")[0], Json({0, 0, 0, 0.5}));
  EXPECT_EQ(stage(layer, "x")[0][0], Json({1, 2, 3, 4}));
}

TEST(Explain, finds_a_token_with_brackets_or_a_comma_in_an_edit) {
  const std::string request = R"({"q":[[1],[2]],"k":[[1],[2]],"v":[[1],[2]],"tokens":["[CLS]",","],"set":[)";
  EXPECT_EQ(stage(document(request + R"("v[[CLS]]=7"]})"), "v"), Json::parse("[[[[7],[2]]]]"));
  EXPECT_EQ(stage(document(request + R"("v[,]=7"]})"), "v"), Json::parse("[[[[1],[7]]]]"));
}

TEST(Explain, gives_gradients_beside_differences_and_row_sums_of_zero) {
  const Json back = document(R"({"example":"backward","backward":true})");
  ASSERT_EQ(back["differences"].size(), 3U);
  for (const Json& gradient : back["differences"])
    EXPECT_LE(gradient["max_error"].get<double>(), 1e-9) << gradient["stage"];
  EXPECT_LE(back["row_sums"][1]["largest"].get<double>(), 1e-15);
  EXPECT_FALSE(document(R"({"example":"backward"})").contains("loss"));
}

TEST(Explain, differences_every_input_of_a_layer) {
  const Json back = document(R"({"example":"running","backward":true,"step":1e-5,
      "gamma":[1,2,1,1],"bq":[0,1,0,0],"wo":[[1],[2],[3],[4]],"bo":[1],"d_output":[[1],[2],[-1],[0.5],[3]]})");
  std::vector<std::string> inputs;
  for (const Json& gradient : back["differences"]) {
    inputs.push_back(gradient["input"]);
    EXPECT_LE(gradient["max_error"].get<double>(), 1e-7) << gradient["stage"];
  }
  EXPECT_EQ(inputs, (std::vector<std::string>{"x", "gamma", "wq", "bq", "wk", "wv", "wo", "bo"}));
}

TEST(Explain, leaves_out_differences_that_would_take_too_long) {
  std::string row = "[";
  for (int i = 0; i < 200; ++i) row += (i == 0 ? "" : ",") + std::to_string(i % 7);
  row += "]";
  std::string rows = "[";
  for (int i = 0; i < 60; ++i) rows += (i == 0 ? "" : ",") + row;
  rows += "]";
  const Json back = document("{\"backward\":true,\"q\":" + rows + ",\"k\":" + rows + ",\"v\":" + rows + "}");
  EXPECT_TRUE(back["differences"].is_null());
  EXPECT_TRUE(back["loss"].is_number());
}

TEST(Explain, says_the_options_as_they_were_used) {
  const Json options = document(R"({"example":"running","causal":"offset:1","window":[2,-1],"softcap":3,"sinks":[0,1],
                                    "slopes":[0.5,0.25],"scale":0})")["options"];
  EXPECT_EQ(options["corner"], "offset");
  EXPECT_EQ(options["offset"], 1);
  EXPECT_EQ(options["window"], Json({2, -1}));
  EXPECT_EQ(options["scale"], 0);
  EXPECT_EQ(options["sinks"], Json({0, 1}));
  EXPECT_EQ(document(R"({"example":"bank"})")["options"]["scale_given"], false);
}

TEST(Explain, writes_a_formula_in_symbols_only_where_it_is_the_whole_truth) {
  EXPECT_EQ(lesson_formula("ds", "p ⊙ (dp − delta)"), "A ⊙ (dA − rowsum(dA ⊙ A))");
  EXPECT_EQ(lesson_formula("ds", "p ⊙ (dp − delta + dlse)"), "");
  const Json capped = document(R"({"example":"backward","backward":true,"softcap":2})");
  for (const Json& each : capped["stages"]) {
    if (each["name"] == "dq") {
      EXPECT_EQ(each["math"], "") << each["formula"];
    }
  }
}

TEST(Explain, answers_an_empty_row_with_zeros_and_no_nan) {
  const Json masked = document(R"({"example":"bank","keep":[[1,1,1],[0,0,0],[1,1,1]]})");
  EXPECT_EQ(stage(masked, "o")[0][0][1], Json({0, 0}));
  EXPECT_EQ(stage(masked, "lse")[0][0][1], "-Infinity");
  EXPECT_TRUE(masked["reading"][1]["keys"].empty());
}

struct Refusal {
  const char* request;
  const char* message;  // a part of it
};

TEST(Explain, names_what_is_wrong_with_a_request) {
  const Refusal refusals[] = {
      {"[]", "the request is a list; expected an object"},
      {R"({"exmple":"bank"})", "there is no field \"exmple\"; did you mean \"example\"?"},
      {R"({"example":"bnk"})", "there is no example \"bnk\"; did you mean \"bank\"?"},
      {R"({})", "x is missing"},
      {R"({"q":[[1]]})", "k is missing"},
      {R"({"x":[[1]]})", "wq is missing"},
      {R"({"example":"bank","x":[[1]]})", "q and x contradict each other"},
      {R"({"example":"bank","heads":2})", "q and heads contradict each other"},
      {R"({"example":"running","wqkv":[[1]]})", "wqkv and wq contradict each other"},
      {R"({"example":"bank","causal":"top_left","corner":"top_left"})", "causal and corner both name a corner"},
      {R"({"example":"bank","causal":"left"})", "causal is \"left\"; expected \"top_left\""},
      {R"({"example":"bank","causal":"offset:x"})", "expected offset:N"},
      {R"({"example":"bank","window":[1]})", "window has 1 numbers; expected [left, right]"},
      {R"({"example":"bank","scale":"big"})", "scale is \"big\"; expected a number"},
      {R"({"example":"bank","head":-1})", "head is -1; expected a whole number of at least 0"},
      {R"({"example":"bank","row":true})", "row is true; expected an index from 0 or a token"},
      {R"({"example":"bank","step":0})", "step is 0; expected a number above 0"},
      {R"({"example":"bank","tokens":["a"]})", "tokens has 1 entries, but the number of queries is 3"},
      {R"({"example":"bank","tokens":{"en":["a"],"pt":["b","c"]}})", "tokens has 1 in en but 2 in pt"},
      {R"({"example":"bank","tokens":{"fr":["a"]}})", "there is no field \"fr\""},
      {R"({"example":"bank","value_axes":["a"]})", "value_axes has 1 entries, but the width of v is 2"},
      {R"({"example":"bank","keep":[[2,1,1]]})", "keep has the entry 2; expected true (may be seen) or false"},
      {R"({"example":"bank","backward":true,"d_output":[[1,2]]})",
       "d_output is [1,1,1,2], but the output is [1,1,3,2]"},
      {R"({"example":"bank","k":[[1,2,3]]})", "k [B,Hkv,Tk,D] is [1,1,1,3], but D is 2"},
      {R"({"example":"bank","q":[1,2]})", "q is [2]; expected [T,D], [H,T,D] or [B,H,T,D]"},
      {R"({"example":"bank","norm":"rms"})", "q and norm contradict"},
      {R"({"example":"running","norm":"rms"})", "norm is \"rms\"; expected \"layernorm\" or \"none\""},
      {R"({"example":"bank","set":["v=1"]})", "set \"v=1\" cannot be read; expected NAME[ROW]=numbers"},
      {R"({"example":"bank","set":["w[0]=1"]})", "names no input (there are k q v)"},
      {R"({"example":"bank","set":["v[0]=1"]})", "gives 1 numbers; v[0] has 2"},
      {R"({"example":"bank","set":["v[0,5]=1"]})", "has column \"5\"; expected 0 … 1"},
      {R"({"example":"bank","set":["v[0]=1,x"]})", "has \"x\" where a number should stand"},
      {R"({"op":"explan"})", "op is \"explan\"; expected \"explain\", \"shapes\" or \"scores\""},
  };
  for (const Refusal& refusal : refusals)
    EXPECT_NE(message_of(refusal.request).find(refusal.message), std::string::npos)
        << refusal.request << "\n  gave: " << message_of(refusal.request);
}

TEST(Explain, refuses_what_a_document_could_not_hold_before_making_room_for_it) {
  std::string column = "[[1]";
  for (int i = 0; i < 2100; ++i) column += ",[1]";
  column += "]";
  EXPECT_NE(message_of("{\"q\":" + column + ",\"k\":" + column + ",\"v\":" + column + "}").find("has 4414201 entries"),
            std::string::npos);
  EXPECT_NE(message_of("{\"x\":" + column + ",\"wq\":[[1]],\"wk\":[[1]],\"wv\":[[1]]}").find("at most 4000000"),
            std::string::npos);
}

// Whether everything in `part` is in `whole` too, entry by entry.
void expect_contains(const Json& whole, const Json& part, const std::string& path) {
  if (part.is_object()) {
    for (const auto& [key, value] : part.items()) {
      ASSERT_TRUE(whole.contains(key)) << path << " has no " << key;
      std::string below = path;
      below += "." + key;
      expect_contains(whole[key], value, below);
    }
    return;
  }
  EXPECT_EQ(whole, part) << path;
}

TEST(Explain, the_documentation_tells_the_truth) {
  std::ifstream file(QKV_SOURCE_DIR "/docs/explain.md");
  std::stringstream text;
  text << file.rdbuf();
  std::vector<std::string> blocks;
  const std::string all = text.str(), fence = "```json\n";
  for (std::size_t at = all.find(fence); at != std::string::npos; at = all.find(fence, at + 1))
    blocks.push_back(all.substr(at + fence.size(), all.find("```\n", at + 3) - at - fence.size()));
  ASSERT_EQ(blocks.size(), 4U);
  expect_contains(document(blocks[0]), Json::parse(blocks[1]), "document");
  EXPECT_EQ(document(blocks[2])["broken"]["line"], "wq");
  EXPECT_EQ(document(blocks[3])["kind"], "scores");
}

}  // namespace
}  // namespace qkv
