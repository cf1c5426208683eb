// Gradients by central differences, beside which those of the backward pass can be put.
#ifndef QKV_SRC_EXPLAIN_DIFFERENCES_H_
#define QKV_SRC_EXPLAIN_DIFFERENCES_H_

#include <string>
#include <utility>
#include <vector>

#include "qkv/reference.h"
#include "qkv/status.h"
#include "src/explain/compute.h"
#include "src/explain/request.h"

namespace qkv {

struct Difference {
  std::string gradient;  // the stage: "dq"
  std::string input;     // what was moved: "q"
  Numbers values;        // (L(input + step) − L(input − step)) / (2 step), entry by entry
  double max_error = 0;  // largest |values − stage|
};

// How far the differences of one step are from the stages.
struct SweepStep {
  double step = 0;
  std::vector<std::pair<std::string, double>> max_errors;  // by gradient: "dq"
};

struct Differences {
  bool computed = false;  // false: they would take more than kMostWork multiplications
  double loss = 0;        // L = Σ d_output ⊙ output
  std::vector<Difference> gradients;
  std::vector<SweepStep> sweep;  // for the request's `steps`; empty if all of them would take more than kMostWork
};

inline constexpr double kMostWork = 1e9;  // a few seconds of the reference

// Moves every entry of every input whose gradient is a stage of `trace`; the request is as before afterwards.
// Constraint: `computation` was made from `request`, which asks for the backward pass.
Result<Differences> central_differences(Request& request, const Computation& computation, const Trace& trace);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_DIFFERENCES_H_
