// Threads by std::thread, started anew for each call: the twin that ThreadSanitizer understands (Debian's oneTBB is not
// instrumented and shows false races).
#include <algorithm>
#include <thread>
#include <vector>

#include "src/core/machine_threads.h"
#include "src/core/parallel.h"
#include "src/core/task_queue.h"

namespace qkv {

int resolve_threads(int requested) { return machine_threads(requested); }

bool parallel_for(std::int64_t tasks, int threads, const Progress& progress,
                  const std::function<void(std::int64_t, int)>& run) {
  TaskQueue queue(tasks, progress, run);
  const int workers = static_cast<int>(std::min<std::int64_t>(threads, tasks));
  std::vector<std::thread> pool;
  for (int worker = 1; worker < workers; ++worker) pool.emplace_back([&queue, worker] { queue.work(worker); });
  queue.work(0);
  for (std::thread& thread : pool) thread.join();
  return !queue.stopped();
}

}  // namespace qkv
