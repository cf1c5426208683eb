// Runs independent tasks on several threads. The result must not depend on which thread runs which task.
#ifndef QKV_SRC_CORE_PARALLEL_H_
#define QKV_SRC_CORE_PARALLEL_H_

#include <cstdint>
#include <string_view>

#include "qkv/options.h"
#include "qkv/status.h"
#include "src/core/function_ref.h"

namespace qkv {

// The threads that a request means: itself, or for 0 what the environment variable QKV_THREADS says, or else what the
// machine gives this process (its CPU affinity). A child of fork() gets 1: the worker threads of its parent do not
// exist there. Returns kInvalidArgument, in the name of `operation`, for a negative one and for a QKV_THREADS that is
// no number.
Result<int> resolve_threads(std::string_view operation, int requested);

// Calls run(task, worker) once for every task in [0, tasks), workers numbered [0, threads).
//
// Tasks are handed out in order from one counter, so the longest should come first. execution.progress (may be null) is
// called between tasks, never from two threads at once; once it returns false no further task starts.
// With execution.executor the workers are somebody else's; execution.threads is not looked at: `threads` counts.
// Returns false if it was stopped. Constraint: run() does not throw. Allocates nothing where threads == 1.
// The library's own threads are one of parallel_tbb.cc, parallel_std.cc, parallel_serial.cc (QKV_THREADS in CMake).
bool parallel_for(std::int64_t tasks, int threads, const Execution& execution,
                  FunctionRef<void(std::int64_t task, int worker)> run);

// `requested` threads, or for 0 all that this process may use, as far as the library's own threads allow it.
int available_threads(int requested);

// Calls work(worker) for every worker in [0, workers), workers > 1, on the library's own threads.
void run_workers(int workers, FunctionRef<void(int worker)> work);

}  // namespace qkv

#endif  // QKV_SRC_CORE_PARALLEL_H_
