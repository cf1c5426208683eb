// What is measured and in which order; how long it takes is nobody's promise.
#include "bench/runner.h"

#include <gtest/gtest.h>

#include "bench/peak.h"
#include "bench/problem_sets.h"

namespace qkv::bench {
namespace {

Request request(const std::string& line, Pass pass = Pass::kForward) { return {pass, parse_problem(line).value()}; }

TEST(ProblemSets, every_line_is_a_problem_and_every_type_can_be_asked_for) {
  for (const ProblemSet& set : problem_sets()) {
    EXPECT_FALSE(set.requests.empty()) << set.name;
    const auto requests = requests_of_set(set.name, {DType::kF32, DType::kBF16});
    ASSERT_TRUE(requests.is_ok());
    ASSERT_EQ(requests->size(), 2 * set.requests.size());
    EXPECT_EQ(requests->front().problem.dtype, DType::kF32);
    EXPECT_EQ(requests->back().problem.dtype, DType::kBF16);
  }
}

TEST(ProblemSets, an_unknown_name_is_answered_with_the_known_ones) {
  const std::string message = requests_of_set("prefil", {DType::kF32}).status().message();
  EXPECT_NE(message.find("there is no set 'prefil'"), std::string::npos) << message;
  EXPECT_NE(message.find("prefill, causal"), std::string::npos) << message;
}

TEST(Passes, names_go_both_ways) {
  for (Pass pass : all_passes()) EXPECT_EQ(parse_pass(to_string(pass)).value(), pass);
  EXPECT_NE(parse_pass("sideways").status().message().find("forward"), std::string::npos);
}

TEST(Runner, each_number_of_threads_gets_a_record_with_every_round) {
  RunOptions options;
  options.rounds = 3;
  options.threads = {1, 2};
  int shown = 0;
  options.progress = [&](int done, int total) {
    EXPECT_EQ(done, shown++);
    EXPECT_EQ(total, 3);
  };
  const auto records = measure(request("attention H2 T64 D16"), options);
  ASSERT_TRUE(records.is_ok()) << records.status().message();
  ASSERT_EQ(records->size(), 2U);
  EXPECT_EQ(shown, 3);
  for (const Record& record : *records) {
    EXPECT_EQ(record.problem, "attention B1 H2 T64 D16");
    EXPECT_EQ(record.threads, &record == &records->front() ? 1 : 2);
    EXPECT_EQ(record.seconds.size(), 3U);
    EXPECT_EQ(record.wall.size(), 3U);
    EXPECT_EQ(record.ceiling.size(), 3U);
    EXPECT_EQ(record.flops, 2.0 * 64 * 64 * 2 * (16 + 16));
    EXPECT_NE(record.target, Target::kAuto);
    EXPECT_TRUE(record.check.failure.empty()) << record.check.failure;
    EXPECT_EQ(record.check.rows, 2 * 64);
  }
}

TEST(Runner, a_forced_target_is_the_one_that_runs) {
  RunOptions options;
  options.rounds = 1;
  options.target = Target::kPortable;
  const auto records = measure(request("attention T8 D4"), options);
  ASSERT_TRUE(records.is_ok());
  EXPECT_EQ(records->front().target, Target::kPortable);
  EXPECT_EQ(share(records->front()), 0);  // there is no peak loop for it
}

TEST(Runner, stops_when_asked_and_keeps_whole_rounds_only) {
  RunOptions options;
  options.rounds = 50;
  int rounds = 0;
  options.progress = [&](int done, int) { rounds = done; };
  options.stop = [&] { return rounds >= 2; };
  const auto records = measure(request("attention H2 T64 D16"), options);
  ASSERT_TRUE(records.is_ok());
  EXPECT_EQ(records->front().seconds.size(), 2U);
  options.stop = [] { return true; };
  EXPECT_EQ(measure(request("attention H2 T64 D16"), options).code(), StatusCode::kCancelled);
}

TEST(Runner, a_problem_that_cannot_be_computed_is_an_error) {
  Request bad = request("attention T8 D4");
  bad.problem.causality = Causality::kCausal;
  bad.problem.key_length = 9;  // and no corner
  RunOptions options;
  options.rounds = 1;
  EXPECT_EQ(measure(bad, options).code(), StatusCode::kInvalidArgument);
}

TEST(Peak, every_simd_target_has_a_loop_for_floats_and_doubles) {
  for (Target target : available_targets())
    for (DType dtype : {DType::kF32, DType::kF64})
      for (int threads : {1, 2})
        EXPECT_EQ(measure_fma_peak(target, 1e-3, dtype, threads) > 0, target != Target::kPortable) << to_string(target);
}

}  // namespace
}  // namespace qkv::bench
