// `qkv shapes`: the table as printed, in both languages, and the line that breaks.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "apps/cli/cli.h"
#include "apps/cli/text.h"
#include "tests/command_outcome.h"

namespace qkv::cli {
namespace {

Outcome shapes(const std::vector<std::string>& arguments) { return outcome_of("shapes", arguments); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Shapes, the_lesson_s_table_has_a_line_a_matrix) {
  const Outcome outcome = shapes({"--n", "5", "--c", "4", "--heads", "2"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "  Q           [n,D]         [5,2]  [1,2,5,2]  one query for each token\n"))
      << outcome.out;
  EXPECT_TRUE(has(outcome.out, "  [O₁ … O_H]  [n,heads·Dv]  [5,4]  [1,5,4]    the heads side by side again\n"))
      << outcome.out;
}

TEST(Shapes, sizes_of_every_kind_reach_the_table) {
  const Outcome outcome = shapes(
      {"--n", "3", "--t", "7", "--c", "32", "--heads", "4", "--kv-heads", "2", "--d", "5", "--dv", "6", "--b", "9"});
  EXPECT_TRUE(has(outcome.out, "[9,4,3,7]")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "[9,2,7,6]")) << outcome.out;
}

TEST(Shapes, one_head_needs_no_second_column) {
  const Outcome outcome = shapes({"--n", "3", "--c", "2", "--heads", "1"});
  EXPECT_TRUE(has(outcome.out, "  Q           [n,D]         [3,2]  one query")) << outcome.out;
}

TEST(Shapes, a_shape_that_does_not_fit_is_named_with_the_usual_mistake_and_exit_code_1) {
  const Outcome outcome = shapes({"--preset", "toy", "--found", "k=2,5"});
  EXPECT_EQ(outcome.code, kWrong);
  EXPECT_TRUE(has(outcome.out, "! K ")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "k: expected [5,2], found [2,5]\nk is already transposed")) << outcome.out;
}

TEST(Shapes, a_line_has_its_name_and_its_symbol_in_either_case) {
  EXPECT_TRUE(has(shapes({"--preset", "toy", "--found", "K=2,5"}).out, "k: expected [5,2], found [2,5]"));
  EXPECT_TRUE(has(shapes({"--preset", "toy", "--found", "W_Q=2,5"}).out, "wq: expected [4,2], found [2,5]"));
}

TEST(Shapes, no_line_is_wider_than_the_terminal) {
  for (const int width : {60, 80, 120})
    for (const char* language : {"en", "pt"})
      for (const char* preset : {"toy", "gpt2_small", "grouped"}) {
        std::ostringstream out, err;
        Console console{out, err, false, false, width};
        run({"shapes", "--preset", preset, "--lang", language, "--found", "k=2,5"}, console);
        std::istringstream lines(out.str());
        for (std::string line; std::getline(lines, line);) {
          EXPECT_LE(display_width(line), width) << preset << " " << language << ": " << line;
          EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
        }
      }
}

TEST(Shapes, speaks_portuguese) { EXPECT_TRUE(has(shapes({"--lang", "pt"}).out, "uma consulta para cada token")); }

TEST(Shapes, json_is_the_explorer_s_document) {
  EXPECT_TRUE(has(shapes({"--preset", "grouped", "--json"}).out, "\"kind\": \"shapes\""));
}

TEST(Shapes, mistakes_are_named) {
  EXPECT_TRUE(has(shapes({"--preset", "gpt5"}).err, "gpt2_small"));
  EXPECT_TRUE(has(shapes({"--found", "k"}).err, "--found 'k' is not NAME=SHAPE"));
  EXPECT_TRUE(has(shapes({"--lang", "fr"}).err, "expected en or pt"));
  EXPECT_TRUE(has(shapes({"--n", "0"}).err, "qkv shapes: --n is 0; expected a whole number"));
  EXPECT_TRUE(has(shapes({"--c", "4"}).err, "qkv shapes: --n, the number of tokens, is missing"));
  EXPECT_TRUE(has(shapes({"--found", "zz=2,5"}).err, "no line \"zz\"; expected one of: x wq wk wv q k v s a o merged"));
  EXPECT_TRUE(has(shapes({"--n", ""}).err, "--n is empty; expected a whole number"));
  EXPECT_TRUE(has(shapes({"--preset", ""}).err, "--preset is empty; expected toy|gpt2_small|grouped"));
  EXPECT_EQ(shapes({"--n", "0"}).code, kBadInput);
}

}  // namespace
}  // namespace qkv::cli
