// One queue of tasks over the caller's executor, the library's threads, or the calling thread alone.
#include "src/core/parallel.h"

#include <algorithm>

#include "src/core/task_queue.h"

namespace qkv {

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
