// Gradients by central differences, beside which those of the backward pass can be put.
#ifndef QKV_SRC_EXPLAIN_DIFFERENCES_H_
#define QKV_SRC_EXPLAIN_DIFFERENCES_H_

#include <string>
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

struct Differences {
  bool computed = false;  // false: they would take more than kMostWork multiplications
  double loss = 0;        // L = Σ d_output ⊙ output
  std::vector<Difference> gradients;
};

inline constexpr double kMostWork = 1e9;  // a few seconds of the reference

// Moves every entry of every input whose gradient is a stage of `trace`; the request is as before afterwards.
// Constraint: `computation` was made from `request`, which asks for the backward pass.
Result<Differences> central_differences(Request& request, const Computation& computation, const Trace& trace);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_DIFFERENCES_H_
