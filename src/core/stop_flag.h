// Asks the caller in the middle of a long task whether to go on, by the progress that it is told of between tasks.
#ifndef QKV_SRC_CORE_STOP_FLAG_H_
#define QKV_SRC_CORE_STOP_FLAG_H_

#include <atomic>
#include <cstdint>
#include <mutex>

#include "qkv/options.h"

namespace qkv {

class StopFlag {
 public:
  // Constraint: `execution` outlives it.
  StopFlag(const Execution& execution, std::int64_t tasks) : execution_(execution), tasks_(tasks) {}
  StopFlag(const StopFlag&) = delete;
  StopFlag& operator=(const StopFlag&) = delete;

  // The caller's execution, for parallel_for: what is told between tasks is kept for requested().
  Execution watched() {
    Execution out = execution_;
    if (execution_.progress)
      out.progress = [this](std::int64_t done, std::int64_t /*total*/) {
        const std::lock_guard<std::mutex> lock(mutex_);
        done_ = done;
        return ask();
      };
    return out;
  }

  // Whether the caller said so; does not ask.
  bool stopped() const { return stopped_.load(); }

  // Asks whether the work is to stop. From any worker, as often as a millisecond is long; never waits.
  bool requested() {
    if (!execution_.progress) return false;
    if (stopped_.load(std::memory_order_relaxed)) return true;
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    return lock.owns_lock() && !ask();
  }

 private:
  // Constraint: the mutex is held.
  bool ask() {
    if (!stopped_.load(std::memory_order_relaxed) && !execution_.progress(done_, tasks_)) stopped_.store(true);
    return !stopped_.load(std::memory_order_relaxed);
  }

  const Execution& execution_;
  const std::int64_t tasks_;
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::int64_t done_ = 0;
};

}  // namespace qkv

#endif  // QKV_SRC_CORE_STOP_FLAG_H_
