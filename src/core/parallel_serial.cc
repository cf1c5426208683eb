// Threads, absent: every task on the calling thread (WebAssembly).
#include "src/core/parallel.h"
#include "src/core/task_queue.h"

namespace qkv {

int resolve_threads(int /*requested*/) { return 1; }

bool parallel_for(std::int64_t tasks, int /*threads*/, const Progress& progress,
                  const std::function<void(std::int64_t, int)>& run) {
  TaskQueue queue(tasks, progress, run);
  queue.work(0);
  return !queue.stopped();
}

}  // namespace qkv
