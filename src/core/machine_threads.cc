// CPU affinity and fork detection (Linux).
#include "src/core/machine_threads.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <thread>

namespace qkv {
namespace {

std::atomic<bool> in_forked_child{false};

void note_fork() { in_forked_child.store(true); }

int affinity_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : static_cast<int>(count);
}

}  // namespace

int machine_threads(int requested) {
  static const int registered = pthread_atfork(nullptr, nullptr, note_fork);
  (void)registered;  // without the handler a forked child would merely hang as every TBB program does
  if (in_forked_child.load()) return 1;
  static const int machine = affinity_count();
  return requested > 0 ? requested : machine;
}

}  // namespace qkv
