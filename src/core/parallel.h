// Runs independent tasks on several threads. The result must not depend on which thread runs which task.
#ifndef QKV_SRC_CORE_PARALLEL_H_
#define QKV_SRC_CORE_PARALLEL_H_

#include <cstdint>
#include <functional>

#include "qkv/options.h"

namespace qkv {

// The threads that a request means: itself, or for 0 what the machine gives this process (its CPU affinity).
// A child of fork() gets 1: the worker threads of its parent do not exist there.
int resolve_threads(int requested);

// Calls run(task, worker) once for every task in [0, tasks), workers numbered [0, threads).
//
// Tasks are handed out in order from one counter, so the longest should come first. `progress` (may be null) is called
// between tasks, never from two threads at once; once it returns false no further task starts.
// Returns false if it was stopped. Constraint: run() does not throw.
// The implementation is one of parallel_tbb.cc, parallel_std.cc, parallel_serial.cc (QKV_THREADS in CMake).
bool parallel_for(std::int64_t tasks, int threads, const Progress& progress,
                  const std::function<void(std::int64_t task, int worker)>& run);

}  // namespace qkv

#endif  // QKV_SRC_CORE_PARALLEL_H_
