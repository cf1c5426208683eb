// Times requests in rounds, each beside the machine's ceiling.
#ifndef QKV_BENCH_RUNNER_H_
#define QKV_BENCH_RUNNER_H_

#include <functional>
#include <vector>

#include "bench/record.h"

namespace qkv::bench {

struct RunOptions {
  int rounds = 9;
  std::vector<int> threads = {1};
  Target target = Target::kAuto;
  std::function<bool()> stop;                         // asked between calls; empty: never
  std::function<void(int done, int total)> progress;  // rounds of this request; may be empty
};

// Checks the request against float64, then times it: a round calls it with each number of threads in turn, each
// between two looks at the ceiling, so that rounds of different rows can be compared pair by pair. One record a number
// of threads. A call of less than a few milliseconds is repeated, up to 10,000 times a round.
//
// A wrong result is not timed: its records have no rounds, and check.failure says what is wrong.
// Errors: as make_subject() and the call; kCancelled once `stop` says so before the first round is done. After that the
//   records hold the rounds that were finished.
Result<std::vector<Record>> measure(const Request& request, const RunOptions& options);

}  // namespace qkv::bench

#endif  // QKV_BENCH_RUNNER_H_
