// Threads, runs, progress, workspaces and callers: how a decode step is executed never changes what it computes.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/decode_testing.h"

namespace qkv {
namespace {

// Large enough that sharing pays, with several chunks, unequal sequences and several blocks of rows.
const char* const kShared[] = {
    "attention B2 H8/2 T1x1500 D128 lengths=1500,300",
    "attention H40/1 T3x900 D64 bf16",
    "attention B3 H4/2 T2x2000 D64 lengths=700,2000,2 sinks slopes causal=bottom_right f16",
    "attention B1 H2 T1x700 D256/128 key_mask f64",
    "attention B2 H4/2 T40x600 D64 lengths=600,90 window=200,0 corner=bottom_right",  // a prompt
};
const char* const kStepAndPrompt[] = {kShared[0], kShared[4]};

TEST(DecodeExecution, any_number_of_threads_gives_the_same_bits) {
  for (const char* line : kShared) {
    const check::Case c = case_of(line);
    for (const Target target : available_targets())
      for (const CacheForm& form : {CacheForm{}, CacheForm{100, DType::kI64, false}}) {
        TestCache cache = make_cache(c, form);
        const Ran one = run_decode(c, cache, form, on(target, 1));
        for (const int threads : {2, 3, 5, 8}) {
          TestCache again = make_cache(c, form);
          const Ran many = run_decode(c, again, form, on(target, threads));
          EXPECT_EQ(many.o_bits(), one.o_bits()) << line << " on " << to_string(target) << ", " << threads;
          EXPECT_EQ(many.lse_bits(), one.lse_bits()) << line << " on " << to_string(target) << ", " << threads;
          EXPECT_GT(many.report.threads, 1) << line;
        }
      }
  }
}

TEST(DecodeExecution, run_after_run_gives_the_same_bits) {
  const check::Case c = case_of(kShared[0]);
  const CacheForm form{0, DType::kF32, false};
  TestCache cache = make_cache(c, form);
  const Ran first = run_decode(c, cache, form, on(Target::kAuto, 0));
  for (int turn = 0; turn < 20; ++turn)
    EXPECT_EQ(run_decode(c, cache, form, on(Target::kAuto, 2)).o_bits(), first.o_bits());
}

TEST(DecodeExecution, a_sequence_has_the_same_bits_whoever_shares_its_batch) {
  const check::Case pair = case_of("attention B2 H8/2 T2x1500 D128 lengths=300,1500");
  const CacheForm form{0, DType::kF32, false};
  TestCache cache = make_cache(pair, form);
  const Ran both = run_decode(pair, cache, form, {});
  check::Case alone = case_of("attention B1 H8/2 T2x1500 D128 lengths=300");  // the first of the two
  TestCache one = make_cache(alone, form);
  const std::vector<unsigned char> got = run_decode(alone, one, form, {}).o_bits();
  EXPECT_TRUE(std::equal(got.begin(), got.end(), both.o_bits().begin()));
}

TEST(DecodeExecution, the_report_counts_pairs_tasks_and_scratch) {
  const CacheForm form{0, DType::kF32, false};
  const auto report = [&](const char* line) {
    const check::Case c = case_of(line);
    TestCache cache = make_cache(c, form);
    return run_decode(c, cache, form, on(Target::kAuto, 3)).report;
  };
  EXPECT_EQ(report("attention B2 H4/2 T1x9 D4/6 lengths=9,5").flops, 2.0 * 10 * 4 * (9 + 5));
  EXPECT_EQ(report("attention H2 T3x9 D4").flops, 2.0 * 8 * 2 * (7 + 8 + 9));
  EXPECT_EQ(report("attention H2 T3x9 D4 window=1,0 corner=bottom_right").flops, 2.0 * 8 * 2 * 6);
  EXPECT_EQ(report("attention B2 H4/2 T1x9 D4").tasks, 4);
  EXPECT_EQ(report("attention B2 H4/2 T1x9 D4").threads, 1);  // too little to share
  EXPECT_EQ(report(kShared[0]).threads, 3);
  EXPECT_GT(report(kShared[0]).scratch_bytes, 1000u);
}

TEST(DecodeExecution, progress_runs_to_the_end_and_may_stop_the_call) {
  const CacheForm form;
  for (const char* line : kStepAndPrompt)
    for (const int threads : {1, 4}) {
      const check::Case c = case_of(line);
      std::int64_t last = 0, total = 0;
      Execution execution = on(Target::kAuto, threads);
      execution.progress = [&](std::int64_t done, std::int64_t all) { return last = done, total = all, true; };
      TestCache cache = make_cache(c, form);
      const Ran ran = run_decode(c, cache, form, execution);
      EXPECT_EQ(last, total);
      EXPECT_EQ(total, ran.report.tasks);

      execution.progress = [](std::int64_t done, std::int64_t) { return done < 2; };
      TestCache stopped = make_cache(c, form);
      const std::vector<std::int64_t> lengths = stopped.lengths;
      check::CaseOutputs outputs = must(check::make_outputs(c.problem));
      const NewTokens tokens = new_tokens(c);
      const Result<Report> result = attention_decode({c.q.view, tokens.k.view, tokens.v.view}, stopped.view(),
                                                     outputs.views(), decode_options(c), execution);
      EXPECT_EQ(result.code(), StatusCode::kCancelled);
      EXPECT_EQ(result.status().message(), "attention_decode: stopped by the caller; o and lse are partly written");
      EXPECT_EQ(stopped.lengths, lengths) << line;
    }
}

// The elements of the tokens that are there.
std::vector<unsigned char> tokens_in(const check::Placed& cache, const std::vector<std::int64_t>& lengths) {
  std::vector<unsigned char> all;
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    View<void> tokens = cache.view;
    tokens.data = static_cast<char*>(tokens.data) +
                  static_cast<std::int64_t>(b) * tokens.strides[0] * static_cast<std::int64_t>(size_of(tokens.dtype));
    tokens.shape[0] = 1;
    tokens.shape[2] = lengths[b];
    const std::vector<unsigned char> bits = bits_of(tokens);
    all.insert(all.end(), bits.begin(), bits.end());
  }
  return all;
}

TEST(DecodeExecution, a_workspace_that_is_too_small_changes_nothing) {
  const CacheForm form;
  for (const char* line : kStepAndPrompt) {
    const check::Case c = case_of(line);
    TestCache cache = make_cache(c, form);
    const std::vector<std::int64_t> lengths = cache.lengths;
    const std::vector<unsigned char> k = tokens_in(cache.k, lengths), v = tokens_in(cache.v, lengths);
    std::vector<char> memory(256);
    Workspace small(memory.data(), memory.size());
    Execution execution = on(Target::kAuto);
    execution.workspace = &small;
    check::CaseOutputs outputs = must(check::make_outputs(c.problem));
    const std::vector<unsigned char> o = bits_of(outputs.o.view);
    const NewTokens tokens = new_tokens(c);
    const Result<Report> result = attention_decode({c.q.view, tokens.k.view, tokens.v.view}, cache.view(),
                                                   outputs.views(), decode_options(c), execution);
    EXPECT_EQ(result.code(), StatusCode::kInvalidArgument);
    EXPECT_TRUE(result.status().message().starts_with("attention_decode: the workspace holds 256 bytes")) << line;
    EXPECT_EQ(tokens_in(cache.k, lengths), k) << line;
    EXPECT_EQ(tokens_in(cache.v, lengths), v) << line;
    EXPECT_EQ(cache.lengths, lengths) << line;
    EXPECT_EQ(bits_of(outputs.o.view), o) << line;
  }
}

TEST(DecodeExecution, an_absent_target_and_negative_threads_are_errors) {
  const check::Case c = case_of("attention T1x3 D2");
  const CacheForm form{0, DType::kF32, false};
  TestCache cache = make_cache(c, form);
  check::CaseOutputs outputs = must(check::make_outputs(c.problem));
  const DecodeInputs inputs{c.q.view, {}, {}};
  EXPECT_EQ(attention_decode(inputs, cache.view(), outputs.views(), {}, on(Target::kWasm)).code(),
            StatusCode::kUnsupported);
  const Result<Report> negative = attention_decode(inputs, cache.view(), outputs.views(), {}, on(Target::kAuto, -1));
  EXPECT_EQ(negative.status().message(), "attention_decode: threads must be 0 (all) or positive, found -1");
}

}  // namespace
}  // namespace qkv
