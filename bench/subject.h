// What a benchmark times: one pass on one problem's tensors, ready to be called again and again.
#ifndef QKV_BENCH_SUBJECT_H_
#define QKV_BENCH_SUBJECT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "bench/pass.h"
#include "qkv/attention.h"

namespace qkv::bench {

// How far a result is from float64.
struct Check {
  double largest_error = 0;
  std::int64_t rows = 0, of_rows = 0;  // rows of the output that were looked at
  std::string failure;                 // empty if the result is right; else the worst element
};

class Subject {
 public:
  virtual ~Subject() = default;

  // Calls once and holds the result to float64; long results on runs of rows at the start, in the middle and at the
  // end of a few heads, or on a shortened problem (each pass says which).
  // Errors: what the call says.
  virtual Result<Check> check(const Execution& execution) = 0;

  // One call, as it is timed.
  virtual Result<Report> call(const Execution& execution) = 0;

  // Bytes that a call must read from memory, for a pass whose ceiling is the read bandwidth; 0: its ceiling is FMA.
  virtual double bytes() const { return 0; }
};

// Makes the tensors, which takes a second for the largest problems.
// Errors: kOutOfMemory; kInvalidArgument for a problem that the pass cannot do.
Result<std::unique_ptr<Subject>> make_subject(const Request& request);

}  // namespace qkv::bench

#endif  // QKV_BENCH_SUBJECT_H_
