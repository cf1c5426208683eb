// One queue of tasks over the caller's executor, the library's threads, or the calling thread alone.
#include "src/core/parallel.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>

#include "src/core/status_macros.h"
#include "src/core/task_queue.h"

namespace qkv {
namespace {

Result<int> threads_of(std::string_view text) {
  int threads = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 0)
    return invalid_argument("environment variable QKV_THREADS is '" + std::string(text) +
                            "'; expected a number of threads, or 0 for as many as the machine gives");
  return threads;
}

}  // namespace

Result<int> resolve_threads(std::string_view operation, int requested) {
  if (requested < 0)
    return invalid_argument(std::string(operation) + ": threads must be 0 (all) or positive, found " +
                            std::to_string(requested));
  if (requested == 0) {
    if (const char* given = std::getenv("QKV_THREADS"); given != nullptr && *given != '\0') {
      QKV_ASSIGN_OR_RETURN(requested, threads_of(given));
    }
  }
  return available_threads(requested);
}

bool parallel_for(std::int64_t tasks, int threads, const Execution& execution,
                  FunctionRef<void(std::int64_t, int)> run) {
  TaskQueue queue(tasks, execution.progress, run);
  const int workers = static_cast<int>(std::min<std::int64_t>(threads, tasks));
  if (workers <= 1) {
    queue.work(0);
  } else if (execution.executor) {
    execution.executor(workers, [&queue](int worker) { queue.work(worker); });
    queue.work(0);  // what an executor left undone (a pool that is shutting down) is not left undone
  } else {
    run_workers(workers, [&queue](int worker) { queue.work(worker); });
  }
  return !queue.stopped();
}

}  // namespace qkv
