// `qkv check` from the outside: files that are right, wrong and broken, its exit codes, its page and its document.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "apps/cli/cli.h"
#include "apps/cli/text.h"
#include "qkv/reference.h"
#include "src/check/generate.h"
#include "src/check/mistake.h"
#include "src/io/tensor_file.h"
#include "tests/command_outcome.h"
#include "tests/temporary_file.h"

namespace qkv::cli {
namespace {

using Json = nlohmann::json;

Outcome check_command(const std::vector<std::string>& arguments, int width = kPlainWidth) {
  return outcome_of("check", arguments, width);
}

// Inputs of a problem in given.npz, and what `answered` computes of them, rounded to f32, in got.npz.
struct Files {
  TemporaryFile given{"given.npz"}, got{"got.npz"};
};

void write(Files& files, const std::string& line, const std::string& answered) {
  const Problem problem = *parse_problem(line);
  const check::Case asked = std::move(check::generate(problem)).value();
  FileContents given;
  for (const auto& [name, placed] :
       {std::pair("q", &asked.q), std::pair("k", &asked.k), std::pair("v", &asked.v), std::pair("keep", &asked.keep)})
    if (placed->view.is_present()) given.tensors.push_back({name, placed->view});
  ASSERT_TRUE(write_tensor_file(files.given.path(), given).is_ok());
  check::Case computed = std::move(check::generate(*parse_problem(answered))).value();
  const auto result = reference::attention_forward(asked.inputs(), computed.options());
  ASSERT_TRUE(result.is_ok()) << result.status().message();
  const Tensor o = std::move(converted(result->o.view(), DType::kF32)).value();
  ASSERT_TRUE(
      write_tensor_file(files.got.path(), {.tensors = {{"o", o.view()}}, .metadata = {}, .strings = {}}).is_ok());
}

const std::string kAsked = "attention B2 H4/2 T3x5 D7 causal=bottom_right";

TEST(CheckCommand, says_right_and_ends_with_0_if_the_numbers_are) {
  Files files;
  write(files, kAsked, kAsked);
  const Outcome outcome =
      check_command({"--given", files.given.path(), "--got", files.got.path(), "--problem", kAsked});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("RIGHT: 1 of 1 probes agree")) << outcome.out;
}

TEST(CheckCommand, names_the_mistake_and_ends_with_1_if_they_are_not) {
  Files files;
  write(files, kAsked, "attention B2 H4/2 T3x5 D7 causal=top_left");
  const Outcome outcome =
      check_command({"--given", files.given.path(), "--got", files.got.path(), "--problem", kAsked});
  EXPECT_EQ(outcome.code, kWrong);
  EXPECT_TRUE(outcome.out.starts_with("WRONG: equals attention with the corner of positions at the top left"))
      << outcome.out;
}

TEST(CheckCommand, takes_an_accepted_answer_for_right) {
  Files files;
  write(files, kAsked, "attention B2 H4/2 T3x5 D7 causal=top_left");
  const Outcome outcome = check_command(
      {"--given", files.given.path(), "--got", files.got.path(), "--problem", kAsked, "--accept", "corner_top_left"});
  EXPECT_EQ(outcome.code, kDone) << outcome.out;
}

TEST(CheckCommand, cannot_judge_one_row_that_sees_one_key_and_ends_with_3) {
  Files files;
  write(files, "attention H1 T1 D1", "attention H1 T1 D1");  // o = v whatever the scores are: the mean of v too
  const Outcome outcome = check_command({"--given", files.given.path(), "--got", files.got.path()});
  EXPECT_EQ(outcome.code, kCannotJudge) << outcome.out;
  EXPECT_TRUE(outcome.out.starts_with("CANNOT JUDGE: the mean of v")) << outcome.out;
}

TEST(CheckCommand, prints_a_document_with_the_verdict_and_the_mistake) {
  Files files;
  write(files, "attention B2 H4/2 T3x5 D7", "attention B2 H4/2 T3x5 D7 scale=1");
  const Outcome outcome = check_command({"--given", files.given.path(), "--got", files.got.path(), "--json"});
  const Json report = Json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << outcome.out << outcome.err;
  EXPECT_EQ(report["verdict"], "wrong");
  EXPECT_EQ(report["mistakes"][0]["names"][0], "scale_missing");
  EXPECT_EQ(report["probes"][0]["tensors"][0]["worst"]["index"].size(), 4U);
  const Json& matrices = report["matrices"][0];
  const Json& worst = report["probes"][0]["tensors"][0]["worst"];
  EXPECT_EQ(matrices["worst"], worst["index"]);
  const std::size_t row = worst["index"][2], column = worst["index"][3];
  EXPECT_EQ(matrices["got"]["values"][row][column], worst["got"]);
  EXPECT_EQ(matrices["want"]["values"][row][column], worst["want"]);
  EXPECT_EQ(matrices["weights"]["of"], Json({3, 5}));
}

// The tests are linked without the page; web/e2e/report.spec.ts has the tool with it.
TEST(CheckCommand, refuses_a_page_that_it_was_built_without_and_leaves_the_file_alone) {
  Files files;
  write(files, kAsked, kAsked);
  const TemporaryFile html("report.html");
  html.write("old");
  const Outcome outcome = check_command(
      {"--given", files.given.path(), "--got", files.got.path(), "--problem", kAsked, "--html", html.path()});
  EXPECT_EQ(outcome.code, kBadInput);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("this qkv was built without its page"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("QKV_EMBED_PAGE=ON"), std::string::npos) << outcome.err;
  EXPECT_EQ(html.read(), "old");
}

TEST(CheckCommand, keeps_its_lines_inside_the_terminal) {
  Files files;
  write(files, kAsked, "attention B2 H4/2 T3x5 D7 causal=top_left");
  for (const int width : {40, 80, 120}) {
    const Outcome outcome =
        check_command({"--given", files.given.path(), "--got", files.got.path(), "--problem", kAsked}, width);
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), width) << line;
  }
}

TEST(CheckCommand, says_what_is_wrong_with_its_arguments_and_ends_with_2) {
  Files files;
  write(files, kAsked, kAsked);
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "nothing to check"},
      {{"--got", files.got.path()}, "--got has no effect without --given"},
      {{"--given", files.given.path()}, "--given has no effect without --got"},
      {{"--given", files.given.path(), "--got", files.got.path()}, ""},  // without causal: wrong numbers, not arguments
      {{"--given", files.given.path(), "--got", files.got.path(), "--problem", "attention T3x6"},
       "--problem says T3x6, the files have T3x5"},
      {{"--given", files.given.path(), "--got", files.got.path(), "--gradient"}, "--gradient has no effect on files"},
      {{"--given", files.given.path(), "--got", files.given.path()}, "--got holds no o, lse"},
      {{"--given", files.given.path(), "--got", files.got.path(), "--accept", "scale_twice"},
       "is a mistake wherever it is made"},
      {{"--given", files.given.path(), "--got", files.got.path(), "--accept", "empty_row_nam"}, "empty_row_nan"},
      {{"libmine.so"}, "there is no file libmine.so"},
      {{"/no/such/libmine.so:f"}, "/no/such/libmine.so"},
      {{"libmine.so:f", "--dtype", "f8"}, "expected f64, f32, bf16 or f16"},
      {{"libmine.so:f", "--problem", "attention T2", "--gradient"}, "write backward into it"},
      {{"libmine.so:f", "--seed", "-3"}, "--seed takes a whole number from 0"},
      {{"libmine.so:f", "--timeout", "-1"}, "--timeout takes seconds above 0"},
      {{"libmine.so:f", "--given", files.given.path()}, "either a library or files"},
  };
  for (const auto& [arguments, expected] : cases) {
    const Outcome outcome = check_command(arguments);
    EXPECT_EQ(outcome.code, expected.empty() ? kWrong : kBadInput) << expected << outcome.out;
    EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
  }
}

TEST(CheckCommand, says_how_near_an_explanation_is_beside_what_rounding_may_change) {
  const Outcome outcome = check_command({QKV_BINARY_DIR "/examples/my_attention.so:my_attention", "--quick"});
  EXPECT_EQ(outcome.code, kWrong);
  std::istringstream words(outcome.out);
  const std::string on_one_line =
      std::accumulate(std::istream_iterator<std::string>(words), {}, std::string(),
                      [](const std::string& a, const std::string& b) { return a + b + " "; });
  EXPECT_NE(on_one_line.find("of what rounding may change (corner_top_left)"), std::string::npos) << outcome.out;
}

TEST(CheckCommand, says_that_files_would_be_right_under_an_option_that_was_not_asked_for) {
  for (const auto& [line, option] :
       {std::pair("attention B2 H4/2 T3x5 D7", "causal=bottom_right"),
        std::pair("attention B2 H4/2 T3x5 D7", "causal=top_left"), std::pair("attention B2 H4/2 T4 D7", "causal")}) {
    Files files;
    write(files, line, std::string(line) + " " + option);
    const Outcome outcome = check_command({"--given", files.given.path(), "--got", files.got.path()}, 400);
    EXPECT_EQ(outcome.code, kWrong);
    EXPECT_TRUE(
        outcome.out.starts_with("WRONG: equals attention with " + std::string(option) + ", which was not asked"))
        << outcome.out;
    const std::string hint = "--problem \"attention " + std::string(option) + "\"";
    EXPECT_NE(outcome.out.find(hint), std::string::npos) << outcome.out;
  }
}

TEST(CheckCommand, says_what_to_try_next_where_nothing_that_is_known_explains_files) {
  Files files;
  write(files, "attention B2 H4/2 T3x5 D7", "attention B2 H4/2 T3x5 D7 scale=0.9 softcap=0.7");
  const Outcome outcome = check_command({"--given", files.given.path(), "--got", files.got.path()}, 400);
  EXPECT_TRUE(outcome.out.starts_with("WRONG: no mistake that is known explains it")) << outcome.out;
  EXPECT_NE(outcome.out.find("What to try next"), std::string::npos) << outcome.out;
}

const std::string kHostile = QKV_BINARY_DIR "/tests/check_hostile.so:";

TEST(CheckCommand, of_a_quick_run_says_that_pairs_of_options_were_left_out) {
  const Outcome outcome = check_command({kHostile + "plain_attention", "--quick"}, 400);
  EXPECT_EQ(outcome.code, kDone) << outcome.out;
  EXPECT_NE(outcome.out.substr(0, outcome.out.find('\n')).find("no two options at once were asked"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("(--quick)"), std::string::npos) << outcome.out;
}

TEST(CheckCommand, tells_of_a_way_to_crash_once_with_how_often) {
  const Outcome outcome = check_command({kHostile + "reads_past_k", "--quick"}, 400);
  EXPECT_EQ(outcome.code, kWrong);
  EXPECT_NE(outcome.out.find("0 answered, 0 of them wrong; "), std::string::npos) << outcome.out;
  const std::string found = outcome.out.substr(outcome.out.find("── Probes"));
  EXPECT_EQ(found.find("it read past the end of k"), found.rfind("it read past the end of k")) << found;
}

TEST(CheckCommand, of_one_small_problem_that_is_wrong_does_not_say_that_zeros_would_pass) {
  const Outcome outcome = check_command({kHostile + "gives_nan", "--problem", "attention H1 T1 D1"}, 400);
  EXPECT_EQ(outcome.code, kWrong);
  EXPECT_EQ(outcome.out.find("would pass too"), std::string::npos) << outcome.out;
}

TEST(CheckCommand, replays_with_what_changed_the_verdict) {
  const Outcome outcome = check_command({kHostile + "gives_nan", "--quick", "--accept", "empty_row_mean", "lse_base_2",
                                         "--alignment", "64", "--timeout", "2.5"},
                                        400);
  EXPECT_NE(outcome.out.find("\" --accept empty_row_mean lse_base_2 --alignment 64 --timeout 2.5\n"), std::string::npos)
      << outcome.out;
}

TEST(CheckCommand, lists_every_mistake_by_name) {
  const Outcome outcome = check_command({"--mistakes"});
  EXPECT_EQ(outcome.code, kDone);
  const auto count = static_cast<std::size_t>(std::count(outcome.out.begin(), outcome.out.end(), '\n'));
  EXPECT_EQ(count, check::all_mistakes().size());
  EXPECT_NE(outcome.out.find("empty_row_nan"), std::string::npos);
}

}  // namespace
}  // namespace qkv::cli
