// Every task once, workers numbered densely, and a callback that can stop the rest.
#include "src/core/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <vector>

namespace qkv {
namespace {

TEST(ParallelFor, runs_every_task_exactly_once_with_any_number_of_threads) {
  for (int threads : {1, 2, 3, 8})
    for (std::int64_t tasks : {0, 1, 7, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
      std::atomic<bool> dense{true};
      EXPECT_TRUE(parallel_for(tasks, threads, {}, [&](std::int64_t task, int worker) {
        ++runs[static_cast<std::size_t>(task)];
        if (worker < 0 || worker >= threads) dense = false;
      }));
      for (const std::atomic<int>& count : runs) EXPECT_EQ(count.load(), 1);
      EXPECT_TRUE(dense.load());
    }
}

TEST(ParallelFor, reports_progress_one_at_a_time_and_up_to_the_total) {
  std::atomic<int> inside{0};
  bool alone = true;
  std::int64_t last = 0;
  const Progress progress = [&](std::int64_t done, std::int64_t total) {
    if (++inside != 1 || done != last + 1 || total != 100) alone = false;
    last = done;
    --inside;
    return true;
  };
  EXPECT_TRUE(parallel_for(100, 4, {.progress = progress}, [](std::int64_t, int) {}));
  EXPECT_TRUE(alone);
  EXPECT_EQ(last, 100);
}

TEST(ParallelFor, starts_no_further_task_once_it_is_told_to_stop) {
  std::atomic<int> started{0};
  const Progress progress = [](std::int64_t done, std::int64_t) { return done < 3; };
  EXPECT_FALSE(parallel_for(1000, 2, {.progress = progress}, [&](std::int64_t, int) { ++started; }));
  EXPECT_LE(started.load(), 5);  // three reported, and one more may be under way on each thread
}

TEST(ParallelFor, runs_on_the_executor_that_it_is_given_and_on_nothing_else) {
  int asked = 0;
  Execution execution;
  execution.executor = [&](int workers, const std::function<void(int)>& body) {
    asked = workers;
    for (int worker = workers; worker-- > 0;) body(worker);  // one after the other is legal
  };
  int runs = 0;
  EXPECT_TRUE(parallel_for(10, 4, execution, [&](std::int64_t, int worker) {
    EXPECT_EQ(worker, 3);  // the first to be called drains the queue
    ++runs;
  }));
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(runs, 10);
}

TEST(ParallelFor, leaves_nothing_undone_that_an_executor_left_undone) {
  Execution execution;
  execution.executor = [](int, const std::function<void(int)>&) {};  // a pool that is shutting down
  int runs = 0;
  EXPECT_TRUE(parallel_for(10, 4, execution, [&](std::int64_t, int) { ++runs; }));
  EXPECT_EQ(runs, 10);
}

TEST(ResolveThreads, zero_means_the_machine_and_a_forked_child_runs_alone) {
  EXPECT_GE(*resolve_threads("attention", 0), 1);
  EXPECT_EQ(*resolve_threads("attention", 3), 3);
  const pid_t child = fork();
  if (child == 0) _exit(*resolve_threads("attention", 4) == 1 ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// resolve_threads(requested) with QKV_THREADS in the environment.
Result<int> resolved_with(const char* variable, int requested) {
  setenv("QKV_THREADS", variable, 1);
  Result<int> threads = resolve_threads("attention", requested);
  unsetenv("QKV_THREADS");
  return threads;
}

TEST(ResolveThreads, the_environment_speaks_where_the_caller_does_not) {
  EXPECT_EQ(*resolved_with("3", 0), 3);
  EXPECT_EQ(*resolved_with("3", 2), 2);
  EXPECT_EQ(*resolved_with("", 0), *resolve_threads("attention", 0));
  EXPECT_EQ(*resolved_with("0", 0), *resolve_threads("attention", 0));
}

TEST(ResolveThreads, what_is_no_number_of_threads_is_an_error_and_says_where_it_stands) {
  for (const char* wrong : {"two", "2 ", " 2", "2.0", "-1", "+2", "0x2", "99999999999"}) {
    const Result<int> threads = resolved_with(wrong, 0);
    EXPECT_EQ(threads.status().message(), "environment variable QKV_THREADS is '" + std::string(wrong) +
                                              "'; expected a number of threads, or 0 for as many as the machine gives");
  }
  EXPECT_TRUE(resolved_with("two", 2).is_ok());
  EXPECT_EQ(resolve_threads("attention", -1).status().message(),
            "attention: threads must be 0 (all) or positive, found -1");
}

}  // namespace
}  // namespace qkv
