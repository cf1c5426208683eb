// What `qkv explain` refuses, and that its sentences are true of the numbers beside them.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "apps/cli/cli.h"
#include "apps/cli/text.h"
#include "tests/command_outcome.h"

namespace qkv::cli {
namespace {

Outcome explain(const std::vector<std::string>& arguments) {
  return outcome_of("explain", arguments, 400);  // wide, so that no sentence is broken
}

std::string written(const std::string& text) {
  const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path = ::testing::TempDir() + "words_" + name + ".json";
  std::ofstream(path) << text;
  return path;
}

// Whitespace made single, for sentences that are wrapped.
std::string joined(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  for (std::string word; words >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

void expect_says(const std::vector<std::string>& arguments, const std::string& sentence) {
  const Outcome outcome = explain(arguments);
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_NE(joined(outcome.out).find(sentence), std::string::npos) << sentence << "\n" << outcome.out;
}

void expect_silent(const std::vector<std::string>& arguments, const std::string& sentence) {
  const Outcome outcome = explain(arguments);
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_EQ(joined(outcome.out).find(sentence), std::string::npos) << sentence << "\n" << outcome.out;
}

TEST(ExplainWords, an_option_that_is_no_number_or_empty_is_refused_not_dropped) {
  const std::pair<std::vector<std::string>, const char*> mistakes[] = {
      {{"bank", "--scale", "nan"}, "qkv explain: scale must be finite, found nan\n"},
      {{"bank", "--scale", "1e400"}, "qkv explain: scale must be finite, found inf\n"},
      {{"bank", "--softcap", "nan"}, "qkv explain: softcap must be positive and finite, found nan\n"},
      {{"bank", "--backward", "--step", "nan"}, "qkv explain: step must be finite, found nan\n"},
      {{"bank", "--row", ""}, "qkv explain: --row is empty; expected an index or a token\n"},
      {{"bank", "--head", ""}, "qkv explain: --head is empty; expected an index\n"},
      {{"bank", "--scale", ""}, "qkv explain: --scale is empty; expected a number\n"},
      {{"bank", "--corner", ""}, "qkv explain: --corner is empty; expected a corner\n"},
      {{"bank", "--causal="}, "qkv explain: --causal is empty; give a value after the =, or leave both out\n"},
      {{"bank", "--corner", "top_left"}, "qkv explain: --corner has no effect without --causal, --window or slopes"},
      {{"bank", "--step", "0.1"}, "qkv explain: --step has no effect without --backward\n"},
      {{"bank", "--window", "1"}, "--window '1' is not LEFT,RIGHT; for example 255,0"},
      {{"bank", "--window", "a,b"}, "--window 'a,b' is not LEFT,RIGHT; for example 255,0"},
      {{written(R"({"op":"shapes","n":5,"C":8,"heads":2,"D":3})")}, "this request asks for shapes"}};
  for (const auto& [arguments, message] : mistakes) {
    const Outcome outcome = explain(arguments);
    EXPECT_EQ(outcome.code, kBadInput) << message;
    EXPECT_EQ(outcome.out, "") << message;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  }
}

TEST(ExplainWords, a_whole_number_is_an_offset_and_help_names_types_in_words) {
  EXPECT_EQ(explain({"bank", "--causal=1", "--json"}).out, explain({"bank", "--causal=offset:1", "--json"}).out);
  EXPECT_EQ(explain({"bank", "--causal=1"}).code, kDone);
  EXPECT_EQ(explain({"bank", "--window", "-1,0"}).code, kDone);
  const std::string help = explain({"--help"}).out;
  for (const char* raw : {"INT", "TEXT", "FLOAT", "{square}", "{true}"})
    EXPECT_EQ(help.find(raw), std::string::npos) << raw << "\n" << help;
}

TEST(ExplainWords, what_to_try_next_keeps_what_was_given_and_offers_nothing_twice) {
  expect_says({"running", "--head", "0", "--causal"}, "qkv explain running --head 0 --causal --no-scale");
  expect_silent({"running", "--head", "0", "--causal"}, "forbid looking ahead");
  expect_silent({"running", "--head", "0", "--causal", "--lang", "pt"}, "proibir olhar para a frente");
  expect_says({"running", "--head", "1"}, "qkv explain running --head 0 ");
  expect_says({"running", "--causal=1", "--scale", "2"}, "qkv explain running --causal=1 --no-scale ");
  const std::string file = QKV_SOURCE_DIR "/examples/minilm.safetensors";
  const std::vector<std::string> words{file, "--batch", "0", "--head", "4", "--row", "bank"};
  expect_says(words, "qkv explain " + file + " --batch 0 --head 4 --row bank --json");
  expect_says(words, "qkv explain " + file + " --batch 0 --row bank --head 5");
  expect_says({"bank", "--set", "v[river]=0,1", "--row", "river"}, "qkv explain bank --row river --set 'q[bank]=1,0'");
  expect_silent({"bank", "--set", "v[river]=0,1"}, "the river says money");
}

TEST(ExplainWords, an_option_s_mistake_is_told_in_plain_words) {
  const std::pair<std::vector<std::string>, const char*> mistakes[] = {
      {{}, "qkv explain: WHAT is missing: bank, running, backward, or a .json, .npz or .safetensors file\n"},
      {{"bank", "--lang", "de"}, "qkv explain: --lang 'de' is unknown; expected en or pt\n"},
      {{"bank", "--digits", "99"}, "qkv explain: --digits is 99; expected 0 to 17\n"},
      {{"bank", "--head", "x"}, "qkv explain: --head 'x': expected a whole number\n"},
      {{"bank", "--scale", "x"}, "qkv explain: --scale 'x': expected a number\n"},
      {{"bank", "--row"}, "qkv explain: --row has no value; expected ROW\n"},
      {{"bank", "running"}, "qkv explain: there is no use for \"running\"\n"},
      {{"bank", "--scale", "1", "--no-scale"}, "qkv explain: --scale and --no-scale exclude each other; give one\n"}};
  for (const auto& [arguments, message] : mistakes) {
    const Outcome outcome = explain(arguments);
    EXPECT_EQ(outcome.code, kBadInput) << message;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
  }
}

TEST(ExplainWords, an_empty_row_is_one_whose_keys_are_all_hidden) {
  expect_says({"bank", "--set", "q[bank]=nan,1"}, "The scores of bank hold NaN or ∞");
  expect_says({"bank", "--set", "q[banco]=nan,1", "--lang", "pt"}, "As pontuações de banco contêm NaN ou ∞");
  expect_silent({"bank", "--set", "q[bank]=nan,1"}, "may see no key");
  expect_says({"bank", "--causal=-9"}, "bank may see no key at all");
  expect_says({"running", "--head", "0", "--causal=-1"}, "nobody");
}

TEST(ExplainWords, a_sink_takes_what_the_weights_lack) {
  const std::string path = written(R"({"q":[[1,2]],"k":[[1,0],[0,1]],"v":[[1],[2]],"sinks":[3]})");
  expect_says({path}, "The sink takes the rest, 0.766");
  expect_says({path}, "1 query, 2 keys");
  expect_says({path, "--backward"}, "The rows of dS need not sum to 0 here");
  expect_says({path, "--lang", "pt"}, "O sink leva o resto, 0.766");
  expect_silent({"bank"}, "sink");
}

TEST(ExplainWords, a_gradient_that_is_too_wide_is_named) {
  const std::string path = QKV_SOURCE_DIR "/examples/minilm.safetensors";
  for (const char* gradient : {"dO", "dV", "dQ", "dK"})
    expect_says({path, "--head", "0", "--backward"}, std::string(gradient) + " not shown: 32 columns; --json has them");
}

TEST(ExplainWords, a_row_is_sharper_only_if_its_largest_weight_rose) {
  expect_says({"bank", "--no-scale"}, "the row is sharper for it");
  expect_silent({"bank", "--no-scale", "--set", "q[bank]=0,0"}, "sharper");
  expect_silent({"bank", "--no-scale", "--causal", "--row", "0"}, "sharper");
}

TEST(ExplainWords, one_line_holds_what_the_softmax_gets) {
  expect_says({"bank", "--causal", "--row", "0"}, "· · →");
  expect_says({"bank", "--softcap", "1"}, "In one line: 0.61 0.97 0.99 →");
}

TEST(ExplainWords, equal_weights_are_called_equal) {
  const std::string two = R"({"q":[[0,0],[1,0]],"k":[[1,0],[1,0],[0,0]],"v":[[1],[2],[3]]})";
  expect_says({written(two)}, "query 1 looks equally at key 0 and key 1, with 0.401 each (together 0.802)");
}

}  // namespace
}  // namespace qkv::cli
