// Threads, absent: every worker in turn on the calling thread (WebAssembly).
#include "src/core/parallel.h"

namespace qkv {

int available_threads(int /*requested*/) { return 1; }

void run_workers(int workers, FunctionRef<void(int)> work) {
  for (int worker = 0; worker < workers; ++worker) work(worker);
}

}  // namespace qkv
