// Threads, targets, progress and the report: how a call is executed never changes what it computes.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "tests/attention_testing.h"

namespace qkv {
namespace {

// Large enough that sharing pays, in each type and with unequal tasks.
const char* const kShared[] = {
    "attention B2 H3 T130x257 D32 causal=bottom_right",
    "attention B1 H4/2 T300 D16 f64",
    "attention B2 H2 T200x150 D24/40 keep=200x150 bf16",
    "attention B1 H8/2 T150x260 D16 lengths=201 slopes sinks corner=top_left f16",
    "attention B1 H2 T400 D32 causal=top_left cu_q=0,17,200,400 cu_k=0,17,200,400",
};

TEST(AttentionExecution, any_number_of_threads_gives_the_same_bits) {
  for (const char* line : kShared) {
    const check::Case c = case_of(line);
    for (const Target target : available_targets()) {
      const Ran one = run_case(c, on(target, 1));
      for (const int threads : {2, 3, 5, 8}) {
        const Ran many = run_case(c, on(target, threads));
        EXPECT_EQ(many.o_bits(), one.o_bits()) << line << " on " << to_string(target) << ", " << threads << " threads";
        EXPECT_EQ(many.lse_bits(), one.lse_bits()) << line << " on " << to_string(target);
      }
    }
  }
}

TEST(AttentionExecution, run_after_run_gives_the_same_bits) {
  const check::Case c = case_of(kShared[0]);
  for (const Target target : available_targets()) {
    const Ran first = run_case(c, on(target, 0));
    for (int turn = 0; turn < 5; ++turn) EXPECT_EQ(run_case(c, on(target, 0)).o_bits(), first.o_bits());
  }
}

TEST(AttentionExecution, the_forced_target_is_the_one_used) {
  const check::Case c = case_of("attention H2 T70 D16");
  for (const Target target : available_targets()) {
    EXPECT_EQ(run_case(c, on(target)).report.target, target);
    ASSERT_EQ(setenv("QKV_TARGET", std::string(to_string(target)).c_str(), 1), 0);
    EXPECT_EQ(run_case(c, {}).report.target, target);
    EXPECT_EQ(run_case(c, {}).o_bits(), run_case(c, on(target)).o_bits());
    for (const Target other : available_targets())  // what the call says wins
      EXPECT_EQ(run_case(c, on(other)).report.target, other);
    unsetenv("QKV_TARGET");
  }
  EXPECT_EQ(run_case(c, {}).report.target, available_targets().front());
}

TEST(AttentionExecution, targets_really_differ) {
  // Lane counts change the order of sums: if no bit ever differed, one code path would be serving them all.
  const check::Case c = case_of("attention H2 T97x130 D64");
  const std::vector<Target> targets = available_targets();
  if (targets.size() < 2) GTEST_SKIP() << "this machine has the portable floor only";
  const Ran best = run_case(c, on(targets.front()));
  const Ran floor = run_case(c, on(targets.back()));
  EXPECT_NE(best.o_bits(), floor.o_bits());
}

TEST(AttentionExecution, an_unknown_or_absent_target_is_an_error) {
  const check::Case c = case_of("attention T3 D2");
  check::CaseOutputs outputs = must(check::make_outputs(c.problem));
  const std::vector<unsigned char> before = bits_of(outputs.o.view);
  EXPECT_EQ(attention_forward(c.inputs(), outputs.views(), {}, on(Target::kWasm)).code(), StatusCode::kUnsupported);
  ASSERT_EQ(setenv("QKV_TARGET", "sse9", 1), 0);
  const Result<Report> unknown = attention_forward(c.inputs(), outputs.views());
  unsetenv("QKV_TARGET");
  EXPECT_EQ(unknown.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(unknown.status().message().find("QKV_TARGET"), std::string::npos);
  EXPECT_EQ(bits_of(outputs.o.view), before);
}

TEST(AttentionExecution, a_negative_number_of_threads_is_an_error) {
  const check::Case c = case_of("attention T3 D2");
  check::CaseOutputs outputs = must(check::make_outputs(c.problem));
  const Result<Report> result = attention_forward(c.inputs(), outputs.views(), {}, on(Target::kAuto, -1));
  EXPECT_EQ(result.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(result.status().message().find("threads must be 0"), std::string::npos);
}

TEST(AttentionExecution, the_report_counts_visible_pairs) {
  const auto flops = [](const char* line) { return run_case(case_of(line), {}).report.flops; };
  EXPECT_EQ(flops("attention B2 H3 T5x7 D4/6"), 2.0 * (4 + 6) * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops("attention T5 D4 causal"), 2.0 * 8 * 15);
  EXPECT_EQ(flops("attention T5 D4 corner=top_left window=1,0"), 2.0 * 8 * 9);
  EXPECT_EQ(flops("attention B2 T5 D4 lengths=1,3"), 2.0 * 8 * 5 * 4);
  EXPECT_EQ(flops("attention T5 D4 cu_q=0,2,5 cu_k=0,1,5"), 2.0 * 8 * (2 * 1 + 3 * 4));
  EXPECT_EQ(flops("attention T5 D4 keep=5x5"), 2.0 * 8 * 25);  // a mask tensor is not looked at
}

TEST(AttentionExecution, the_report_names_the_threads_that_work) {
  const check::Case c = case_of(kShared[0]);
  EXPECT_EQ(run_case(c, on(Target::kAuto, 1)).report.threads, 1);
  EXPECT_EQ(run_case(c, on(Target::kAuto, 3)).report.threads, 3);
  EXPECT_EQ(run_case(case_of("attention T5 D2"), on(Target::kAuto, 3)).report.threads, 1);  // too little to share
  EXPECT_GE(run_case(c, {}).report.tasks, 6);
}

TEST(AttentionExecution, progress_runs_to_the_end_and_never_twice_at_once) {
  const check::Case c = case_of(kShared[0]);
  for (const int threads : {1, 4}) {
    std::int64_t last = 0, total_seen = 0;
    std::atomic<int> inside = 0;
    bool together = false, backwards = false;
    Execution execution = on(Target::kAuto, threads);
    execution.progress = [&](std::int64_t done, std::int64_t total) {
      together |= inside.fetch_add(1) != 0;
      backwards |= done < last;
      last = done;
      total_seen = total;
      inside.fetch_sub(1);
      return true;
    };
    const Ran ran = run_case(c, execution);
    EXPECT_FALSE(together);
    EXPECT_FALSE(backwards);
    EXPECT_EQ(total_seen, ran.report.tasks);
    EXPECT_EQ(last, total_seen) << threads;
    EXPECT_EQ(ran.o_bits(), run_case(c, on(Target::kAuto)).o_bits());
  }
}

TEST(AttentionExecution, progress_may_stop_the_call) {
  const check::Case c = case_of(kShared[0]);
  for (const int threads : {1, 4}) {
    check::CaseOutputs outputs = must(check::make_outputs(c.problem));
    Execution execution = on(Target::kAuto, threads);
    std::int64_t calls = 0;
    execution.progress = [&](std::int64_t, std::int64_t) { return ++calls < 3; };
    const Result<Report> result = attention_forward(c.inputs(), outputs.views(), c.options(), execution);
    EXPECT_EQ(result.code(), StatusCode::kCancelled);
    EXPECT_EQ(result.status().message(), "attention: stopped by the caller; o and lse are partly written");
    EXPECT_EQ(calls, 3);
  }
}

}  // namespace
}  // namespace qkv
