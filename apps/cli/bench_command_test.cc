// `qkv bench`: what it prints and refuses; no time is looked at.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "apps/cli/bench_table.h"
#include "apps/cli/cli.h"
#include "tests/command_outcome.h"

namespace qkv::cli {
namespace {

Outcome bench(const std::vector<std::string>& arguments) { return outcome_of("bench", arguments); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string path_of(const std::string& name) { return ::testing::TempDir() + "qkv_bench_" + name; }

std::string content_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Bench, a_row_has_the_problem_last_and_its_error_beside_its_time) {
  const Outcome outcome = bench({"attention H2 T40 D8 causal", "--rounds", "1", "--threads", "1,2"});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "forward, ")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "thr speedup  problem\n")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "B1 H2 T40 D8 causal\n")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "median over 1 round of")) << outcome.out;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 82U) << line;  // two bytes more for a µ
}

TEST(Bench, json_goes_to_a_file_and_a_later_run_compares_with_it) {
  const std::string path = path_of("old.json");
  EXPECT_EQ(bench({"attention T8 D4", "--rounds", "2", "--json", path}).code, kDone);
  EXPECT_TRUE(has(content_of(path), "\"problem\": \"attention B1 H1 T8 D4\""));
  const Outcome outcome = bench({"attention T8 D4", "attention T9 D4", "--rounds", "1", "--compare", path});
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "change  problem")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "±")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "new  B1 H1 T9 D4")) << outcome.out;
}

TEST(Bench, json_on_standard_output_comes_alone) {
  const Outcome outcome = bench({"attention T8 D4", "--rounds", "1", "--json", "-"});
  EXPECT_EQ(outcome.out.front(), '{');
  EXPECT_FALSE(has(outcome.out, "share:"));
}

TEST(Bench, the_sets_are_listed_with_their_passes) {
  const std::string text = bench({"--list"}).out;
  EXPECT_TRUE(has(text, "prefill: plain prefill\n  forward  attention B1 H12 T1024 D64\n")) << text;
}

TEST(Bench, the_types_asked_for_are_those_of_lines_that_name_none) {
  const std::string both = bench({"attention T8 D4", "--dtype", "f64,bf16", "--rounds", "1"}).out;
  EXPECT_TRUE(has(both, "B1 H1 T8 D4 f64\n")) << both;
  EXPECT_TRUE(has(both, "B1 H1 T8 D4 bf16\n")) << both;
  const std::string named = bench({"attention T8 D4 f16", "--dtype", "f64", "--rounds", "1"}).out;
  EXPECT_TRUE(has(named, "B1 H1 T8 D4 f16\n")) << named;
  EXPECT_FALSE(has(named, "f64\n")) << named;
}

TEST(Bench, a_row_says_how_many_threads_ran_not_how_many_were_allowed) {
  const std::string text = bench({"attention T8 D4", "--threads", "99", "--rounds", "1"}).out;
  EXPECT_TRUE(has(text, "   1  B1 H1 T8 D4\n")) << text;
  EXPECT_FALSE(has(text, "99")) << text;
}

TEST(Bench, the_legend_explains_every_column) {
  std::istringstream words(bench({"attention T8 D4", "--threads", "1,2", "--rounds", "1"}).out);
  std::string text;
  for (std::string word; words >> word;) text += word + ' ';
  for (const char* column : {"share: ", "best: ", "error: ", "thr: ", "speedup: "})
    EXPECT_TRUE(has(text, column)) << column << text;
}

TEST(Bench, mistakes_are_named) {
  EXPECT_TRUE(has(bench({"H2 T4 D8"}).err, "expected 'attention' first, found 'H2'"));
  EXPECT_TRUE(has(bench({"--set", "prefil"}).err, "there is no set 'prefil'"));
  EXPECT_TRUE(has(bench({"--pass", "sideways"}).err, "there is no pass 'sideways'"));
  EXPECT_TRUE(has(bench({"--dtype", "i32"}).err, "--dtype 'i32'"));
  EXPECT_TRUE(has(bench({"--threads", "0"}).err, "--threads '0'"));
  EXPECT_TRUE(has(bench({"--threads", "1,,2"}).err, "--threads '1,,2'"));
  EXPECT_TRUE(has(bench({"--rounds", "0"}).err, "--rounds is 0"));
  EXPECT_TRUE(has(bench({"--target", "sse9"}).err, "sse9"));
  EXPECT_TRUE(has(bench({"--compare", "/no/such.json"}).err, "/no/such.json: it cannot be read"));
  EXPECT_TRUE(has(bench({"--json", "/no/such/folder/x.json"}).err, "cannot write /no/such/folder/x.json"));
  const std::string path = path_of("broken.json");
  std::ofstream(path) << "[]";
  EXPECT_TRUE(has(bench({"--compare", path}).err, "it is not what `qkv bench --json` writes"));
  EXPECT_EQ(bench({"--rounds", "0"}).code, kBadInput);
}

TEST(BenchTable, a_wrong_result_is_shown_without_a_time) {
  bench::Record record;
  record.problem = "attention B1 H1 T5 D2";
  record.check.failure = "o: 3 of 24 wrong";
  std::ostringstream out;
  BenchTable(out, {}).add({record});
  EXPECT_TRUE(has(out.str(), "WRONG")) << out.str();
  EXPECT_TRUE(has(out.str(), "3 of 24 wrong")) << out.str();
}

TEST(BenchTable, times_have_the_unit_that_fits) {
  EXPECT_EQ(call_time(2.5e-7), "250 ns");
  EXPECT_EQ(call_time(2.5e-5), "25 µs");
  EXPECT_EQ(call_time(0.0257), "25.7 ms");
  EXPECT_EQ(call_time(1.5), "1.5 s");
}

}  // namespace
}  // namespace qkv::cli
