// What was measured of one row: every round of it, so that whoever reads it later can take other medians.
#ifndef QKV_BENCH_RECORD_H_
#define QKV_BENCH_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/pass.h"
#include "bench/subject.h"
#include "qkv/target.h"

namespace qkv::bench {

// Rows are the same row in two files if pass, problem, threads and the forced target agree.
struct Record {
  Pass pass = Pass::kForward;
  std::string problem;            // its line
  int threads = 1;                // asked for
  int threads_ran = 0;            // the most that worked on a call; 0: unknown
  Target target = Target::kAuto;  // the one that ran

  std::int64_t calls = 1;       // in a round, of which each value below is the median
  std::vector<double> seconds;  // a call, one a round: CPU time on one thread, wall clock on several or for short calls
  std::vector<double> wall;     // the same by the wall clock
  std::vector<double> ceiling;  // of the same rounds: flops a second, or bytes a second where bytes > 0; 0: unknown
  double flops = 0, bytes = 0;  // of a call
  std::int64_t scratch_bytes = 0;  // that a call took from its workspace
  Check check;
};

inline constexpr double kShortCall = 50e-6;  // below it a row's time is the best of its rounds' medians

// Seconds of a call: the median over rounds, or for short calls the best.
double call_seconds(const Record& record);

// Work a second: flops, or bytes where that is the row's ceiling.
double rate(const Record& record);

// Share of the ceiling: the median over rounds of rate / ceiling of the same round. 0 if unknown.
double share(const Record& record);

// rate() as a share of the best ceiling of the rounds. Where rate() is that of the median call, never above share();
// for short calls, whose rate() is the best round's, it may be.
double share_of_best(const Record& record);

// How much faster than `other` of the same rounds by the wall clock: the median over rounds of the ratio. 0 if the
// rounds do not match.
double speedup(const Record& record, const Record& other);

}  // namespace qkv::bench

#endif  // QKV_BENCH_RECORD_H_
