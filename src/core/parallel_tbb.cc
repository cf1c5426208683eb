// Threads by oneTBB: its workers outlive the call, so a call costs no thread start.
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>

#include <cstddef>
#include <optional>

#include "src/core/machine_threads.h"
#include "src/core/parallel.h"

namespace qkv {

int available_threads(int requested) { return machine_threads(requested); }

void run_workers(int workers, FunctionRef<void(int)> work) {
  // More workers than CPUs, where somebody asks for them, have to be allowed first.
  std::optional<oneapi::tbb::global_control> allowed;
  if (workers > machine_threads(0)) {
    allowed.emplace(oneapi::tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers));
  }
  // One TBB task a worker, each of which drains a queue: worker numbers stay dense, whatever thread TBB picks.
  oneapi::tbb::task_arena arena(workers);
  arena.execute([&] {
    oneapi::tbb::parallel_for(
        oneapi::tbb::blocked_range<int>(0, workers, 1),
        [&work](const oneapi::tbb::blocked_range<int>& range) {
          for (int worker = range.begin(); worker != range.end(); ++worker) work(worker);
        },
        oneapi::tbb::simple_partitioner());
  });
}

}  // namespace qkv
