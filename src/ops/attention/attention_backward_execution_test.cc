// Threads, targets, workspaces, progress and the report: how a gradient is executed never changes what it is.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "tests/attention_backward_testing.h"

namespace qkv {
namespace {

// Large enough that sharing pays, with several panels a head, in each type and with unequal tasks.
const char* const kShared[] = {
    "attention B2 H3 T130x757 D32 causal=bottom_right backward",
    "attention B1 H4/2 T300x500 D16 f64 bias=1x1x500 sinks dlse backward",
    "attention B2 H2 T200x450 D24/40 keep=200x450 bf16 bias=2x200x450 backward",
    "attention B1 H8/2 T150x460 D16 lengths=401 slopes sinks corner=top_left f16 backward",
    "attention B1 H2 T700 D32 causal=top_left cu_q=0,17,300,700 cu_k=0,17,300,700 bias=700x1 backward",
    "attention T100x900 D16 backward",
};

TEST(GradientExecution, any_number_of_threads_gives_the_same_bits) {
  for (const char* line : kShared) {
    const check::Case c = case_of(line);
    for (const Target target : available_targets()) {
      const RanBackward one = run_backward(c, on(target, 1));
      for (const int threads : {2, 3, 5, 8})
        EXPECT_EQ(run_backward(c, on(target, threads)).bits(), one.bits())
            << line << " on " << to_string(target) << ", " << threads << " threads";
    }
  }
}

TEST(GradientExecution, run_after_run_gives_the_same_bits) {
  for (const char* line : kShared) {
    const check::Case c = case_of(line);
    const RanBackward first = run_backward(c, on(Target::kAuto, 0));
    for (int turn = 0; turn < 20; ++turn) EXPECT_EQ(run_backward(c, on(Target::kAuto, 0)).bits(), first.bits()) << line;
  }
}

TEST(GradientExecution, an_executor_may_run_its_workers_in_any_order) {
  const check::Case c = case_of(kShared[0]);
  const RanBackward one = run_backward(c, on(Target::kAuto, 1));
  Execution execution = on(Target::kAuto, 4);
  execution.executor = [](int workers, const std::function<void(int)>& body) {
    for (int worker = workers; worker-- > 0;) body(worker);
  };
  EXPECT_EQ(run_backward(c, execution).bits(), one.bits());
  execution.executor = [](int workers, const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(workers));
    for (int worker = 0; worker < workers; ++worker) threads.emplace_back(body, worker);
    for (std::thread& thread : threads) thread.join();
  };
  EXPECT_EQ(run_backward(c, execution).bits(), one.bits());
}

TEST(GradientExecution, the_callers_workspace_is_enough_and_one_byte_less_is_an_error) {
  const check::Case c = case_of(kShared[2]);
  const RanBackward want = run_backward(c, on(Target::kAuto, 2));
  std::vector<char> memory(want.report.scratch_bytes + 64);
  Workspace workspace(memory.data(), memory.size());
  Execution execution = on(Target::kAuto, 2);
  execution.workspace = &workspace;
  const check::CaseGradients gradients = must(check::make_gradients(c.problem));
  must(attention_backward(backward_inputs(c, want.forward), gradients.views(), c.options(), execution));
  EXPECT_EQ(bits_of(gradients.dq.view), bits_of(want.gradients.dq.view));
  Workspace small(memory.data(), want.report.scratch_bytes - 64);
  execution.workspace = &small;
  const Result<Report> result =
      attention_backward(backward_inputs(c, want.forward), gradients.views(), c.options(), execution);
  EXPECT_EQ(result.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(result.status().message().find("attention_backward: the workspace holds"), std::string::npos);
}

TEST(GradientExecution, a_caller_is_asked_in_the_middle_of_a_long_task_and_may_stop_it) {
  const check::Case c = case_of("attention H2/1 T2000x300 D16 backward");
  const RanBackward want = run_backward(c, on(Target::kAuto, 1));
  const check::CaseGradients gradients = must(check::make_gradients(c.problem));
  for (const int threads : {1, 3}) {
    Execution execution = on(Target::kAuto, threads);
    int calls = 0, in_the_middle = 0;
    std::int64_t last = 0;
    execution.progress = [&](std::int64_t done, std::int64_t total) {
      EXPECT_LE(last, done);
      EXPECT_LE(done, total);
      in_the_middle += done == last && done < total ? 1 : 0;
      last = done;
      return ++calls < 1000;
    };
    must(attention_backward(backward_inputs(c, want.forward), gradients.views(), c.options(), execution));
    EXPECT_EQ(bits_of(gradients.dq.view), bits_of(want.gradients.dq.view));
    EXPECT_GT(in_the_middle, 3) << threads;
    execution.progress = [](std::int64_t, std::int64_t) { return false; };
    EXPECT_EQ(attention_backward(backward_inputs(c, want.forward), gradients.views(), c.options(), execution).code(),
              StatusCode::kCancelled);
  }
}

TEST(GradientExecution, scratch_grows_with_the_rows_not_with_the_pairs) {
  const auto scratch = [](const char* line) {
    return run_backward(case_of(line), on(Target::kAuto)).report.scratch_bytes;
  };
  const std::size_t one = scratch("attention T500 D16 backward"), two = scratch("attention T1000 D16 backward");
  EXPECT_LE(two - one, 500 * (3 * 4 + 2 * 2 * 16 * 4));  // row terms, and at most a panel's rows of k, v, dk, dv
}

// A window of one key keeps the work small, and all inputs are zeros of one row: scratch depends on the shape alone.
TEST(GradientExecution, at_65536_tokens_a_thread_takes_less_than_16_megabytes) {
  constexpr std::int64_t kHeads = 4, kTokens = 65536, kWidth = 64;
  constexpr std::size_t kMost = 16'000'000;
  const Dims shape{1, kHeads, kTokens, kWidth};
  const std::vector<float> row(kWidth), lse(1);
  std::vector<float> sums(static_cast<std::size_t>(3 * kHeads * kTokens * kWidth));
  AttentionOptions options;
  options.window = {0, 0};
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
    for (const int threads : {1, 2, 3, 8}) {
      const View<const void> rows(row.data(), dtype, shape, {0, 0, 0, 1});
      const View<const float> statistics(lse.data(), {1, kHeads, kTokens}, {0, 0, 0});
      const auto gradient = [&](std::size_t which) {
        return View<void>(sums.data() + which * sums.size() / 3, dtype, shape);
      };
      const Report report = must(attention_backward({rows, rows, rows, rows, statistics, rows, {}},
                                                    {gradient(0), gradient(1), gradient(2), {}, {}}, options,
                                                    on(Target::kAuto, threads)));
      EXPECT_EQ(report.threads, threads);
      EXPECT_LT(report.scratch_bytes, kMost * static_cast<std::size_t>(threads)) << to_string(dtype);
    }
}

// More KV heads than the rests of a 16-bit dq may take memory for at once: how many depends on the threads, no bit
// does. All queries of a head are one row.
TEST(GradientExecution, heads_that_take_turns_at_memory_give_the_same_bits) {
  constexpr std::int64_t kTokens = 50000;
  const check::Case c = case_of("attention H3 T1x200 D64 bf16 backward");
  const Ran forward = run_case(c, {});
  Problem longer = c.problem;
  longer.query_length = kTokens;
  AttentionBackwardInputs inputs = backward_inputs(c, forward);
  for (View<const void>* view : {&inputs.q, &inputs.o, &inputs.lse, &inputs.d_o}) {
    view->shape[2] = kTokens;
    view->strides[2] = 0;
  }
  const auto bits = [&](int threads) {
    const check::CaseGradients gradients = must(check::make_gradients(longer));
    must(attention_backward(inputs, gradients.views(), c.options(), on(Target::kAuto, threads)));
    return bits_of(gradients.dq.view);
  };
  EXPECT_EQ(bits(2), bits(1));
}

TEST(GradientExecution, an_unknown_target_and_a_negative_number_of_threads_are_errors_and_write_nothing) {
  const check::Case c = case_of("attention T3 D2 backward");
  const Ran forward = run_case(c, {});
  const check::CaseGradients gradients = must(check::make_gradients(c.problem));
  const std::vector<unsigned char> before = bits_of(gradients.dq.view);
  const auto run = [&](const Execution& execution) {
    return attention_backward(backward_inputs(c, forward), gradients.views(), c.options(), execution);
  };
  EXPECT_EQ(run(on(Target::kWasm)).code(), StatusCode::kUnsupported);
  const Result<Report> result = run(on(Target::kAuto, -1));
  EXPECT_EQ(result.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(result.status().message(), "attention_backward: threads must be 0 (all) or positive, found -1");
  EXPECT_EQ(bits_of(gradients.dq.view), before);
}

TEST(GradientExecution, the_report_counts_visible_pairs) {
  const auto flops = [](const char* line) { return run_backward(case_of(line), {}).report.flops; };
  EXPECT_EQ(flops("attention B2 H3 T5x7 D4/6 backward"), (6.0 * 4 + 4 * 6) * 2 * 3 * 5 * 7);
  EXPECT_EQ(flops("attention T5 D4 causal backward"), 40.0 * 15);
  EXPECT_EQ(flops("attention T5 D4 keep=5x5 backward"), 40.0 * 25);  // a mask tensor is not looked at
}

TEST(GradientExecution, progress_runs_to_the_end_and_never_twice_at_once) {
  for (const char* line : kShared) {
    const check::Case c = case_of(line);
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
      const Ran forward = run_case(c, on(Target::kAuto, threads));
      const check::CaseGradients gradients = must(check::make_gradients(c.problem));
      const Report report =
          must(attention_backward(backward_inputs(c, forward), gradients.views(), c.options(), execution));
      EXPECT_FALSE(together);
      EXPECT_FALSE(backwards);
      EXPECT_EQ(total_seen, report.tasks);
      EXPECT_EQ(last, total_seen) << line << ", " << threads << " threads";
    }
  }
}

TEST(GradientExecution, progress_may_stop_the_call) {
  for (const char* line : {kShared[0], kShared[1], kShared[5]})
    for (const int threads : {1, 4})
      for (const std::int64_t stop : {1, 2, 4}) {
        const check::Case c = case_of(line);
        const Ran forward = run_case(c, on(Target::kAuto));
        const check::CaseGradients gradients = must(check::make_gradients(c.problem));
        Execution execution = on(Target::kAuto, threads);
        std::int64_t calls = 0;
        execution.progress = [&](std::int64_t, std::int64_t) { return ++calls < stop; };
        const Result<Report> result =
            attention_backward(backward_inputs(c, forward), gradients.views(), c.options(), execution);
        EXPECT_EQ(result.code(), StatusCode::kCancelled);
        EXPECT_EQ(result.status().message(),
                  "attention_backward: stopped by the caller; the gradients are partly written");
        EXPECT_EQ(calls, stop);
      }
}

// Adding a constant to a row of scores changes nothing, so every row of ds sums to 0; with all keys equal dq is that
// sum times the key.
TEST(GradientInvariants, rows_of_the_score_gradient_sum_to_0) {
  for (const char* line :
       {"attention H2 T70x300 D8/5 backward", "attention H2 T70x300 D8/5 causal=bottom_right backward",
        "attention H2 T70x300 D8/5 f64 keep=70x300 backward"}) {
    const check::Case c = case_of(line);
    for_each_element(c.k.view.shape, c.k.view.strides, [&](std::int64_t at) { set_element(c.k.view, at, 1); });
    for (const Target target : available_targets()) {
      const RanBackward ran = run_backward(c, on(target));
      const double largest = c.problem.dtype == DType::kF64 ? 1e-14 : 4e-6;
      for_each_element(ran.gradients.dq.view.shape, ran.gradients.dq.view.strides, [&](std::int64_t at) {
        EXPECT_LE(std::fabs(element_as_double(ran.gradients.dq.view, at)), largest) << line << to_string(target);
      });
    }
  }
}

TEST(GradientInvariants, both_layouts_give_the_same_bits) {
  for (const char* type : {"", " f64", " bf16", " f16"})
    for (const char* rest : {"", " causal=bottom_right", " keep=57x270 sinks"}) {
      const std::string line = "attention B2 H6/2 T57x270 D7/11 backward" + std::string(rest) + type;
      for (const Target target : available_targets())
        EXPECT_EQ(run_backward(case_of(line + " bthd"), on(target)).bits(),
                  run_backward(case_of(line), on(target)).bits())
            << line << " on " << to_string(target);
    }
}

}  // namespace
}  // namespace qkv
