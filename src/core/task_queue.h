// The counter that parallel_for's workers share, and the rule for stopping.
#ifndef QKV_SRC_CORE_TASK_QUEUE_H_
#define QKV_SRC_CORE_TASK_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <mutex>

#include "qkv/options.h"
#include "src/core/function_ref.h"

namespace qkv {

#ifdef __wasm__  // a module without threads, whose library has no mutex
struct QueueMutex {
  void lock() {}
  void unlock() {}
};
#else
using QueueMutex = std::mutex;
#endif

class TaskQueue {
 public:
  TaskQueue(std::int64_t tasks, const Progress& progress, FunctionRef<void(std::int64_t, int)> run)
      : tasks_(tasks), progress_(progress), run_(run) {}

  // Takes tasks until there are none. Every worker calls it once.
  void work(int worker) {
    while (!stopped_.load(std::memory_order_relaxed)) {
      const std::int64_t task = next_.fetch_add(1, std::memory_order_relaxed);
      if (task >= tasks_) return;
      run_(task, worker);
      if (progress_) report();
    }
  }

  bool stopped() const { return stopped_.load(); }

 private:
  void report() {
    const std::lock_guard<QueueMutex> lock(mutex_);
    if (!stopped_.load() && !progress_(++done_, tasks_)) stopped_.store(true);
  }

  const std::int64_t tasks_;
  const Progress& progress_;
  const FunctionRef<void(std::int64_t, int)> run_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> stopped_{false};
  QueueMutex mutex_;  // guards done_ and the callback
  std::int64_t done_ = 0;
};

}  // namespace qkv

#endif  // QKV_SRC_CORE_TASK_QUEUE_H_
