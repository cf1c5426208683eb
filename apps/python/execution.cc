// The GIL and the signals around a call; a call of a few microseconds is not worth either.
#include "apps/python/execution.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <thread>

#include "apps/python/arrays.h"
#include "apps/python/openmp.h"

namespace qkv::python {
namespace {

// Below this a call takes less than about 50 µs on the slowest target, so other threads and Ctrl-C may wait.
constexpr double kFlopsWorthReleasing = 1e5;

// Between two looks at Python's signals: what Ctrl-C waits for, beside the end of a task.
constexpr std::chrono::milliseconds kPatience{25};

// Lets Ctrl-C through: Python's signal handlers run in the main thread only, so only the calling thread asks, and not
// after every task.
class SignalCheck {
 public:
  bool operator()(std::int64_t /*done*/, std::int64_t /*total*/) {
    if (std::this_thread::get_id() != caller_ || std::chrono::steady_clock::now() < next_) return true;
    next_ = std::chrono::steady_clock::now() + kPatience;
    const nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() == 0;
  }

 private:
  std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kPatience;
};

}  // namespace

Execution read_execution(const Options& given) {
  Execution execution;
  using Limits = std::numeric_limits<int>;
  execution.threads =
      static_cast<int>(std::clamp<std::int64_t>(given.integer("threads").value_or(0), Limits::min(), Limits::max()));
  if (const std::optional<std::string> target = given.text("target")) {
    const Result<Target> parsed = parse_target(*target);
    raise_if_error(parsed.status());
    execution.target = *parsed;
  }
  execution.executor = openmp_executor();
  return execution;
}

double flops_of(const AttentionInputs& inputs) {
  if (inputs.k.shape.rank() != kMaxRank || inputs.v.shape.rank() != kMaxRank) return 0;
  double flops = 4 * static_cast<double>(inputs.k.shape[2]);
  for (int axis = 0; axis < inputs.q.shape.rank(); ++axis) flops *= static_cast<double>(inputs.q.shape[axis]);
  return flops;
}

Status run(double flops, Execution execution, FunctionRef<Status(const Execution&)> call) {
  if (flops < kFlopsWorthReleasing) return call(execution);
  execution.progress = SignalCheck();
  const nb::gil_scoped_release no_gil;
  return call(execution);
}

void raise_outcome(const Status& status) {
  if (status.code() == StatusCode::kCancelled) throw nb::python_error();  // the handler's exception is set
  raise_if_error(status);
}

}  // namespace qkv::python
