// Threads by std::thread, started anew for each call: the twin that ThreadSanitizer understands (Debian's oneTBB is not
// instrumented and shows false races).
#include <thread>
#include <vector>

#include "src/core/machine_threads.h"
#include "src/core/parallel.h"

namespace qkv {

int available_threads(int requested) { return machine_threads(requested); }

void run_workers(int workers, FunctionRef<void(int)> work) {
  std::vector<std::thread> pool;
  for (int worker = 1; worker < workers; ++worker) pool.emplace_back([work, worker] { work(worker); });
  work(0);
  for (std::thread& thread : pool) thread.join();
}

}  // namespace qkv
