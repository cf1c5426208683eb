// Runs the reference on a request: all stages, or only the loss that the differences need.
#ifndef QKV_SRC_EXPLAIN_COMPUTE_H_
#define QKV_SRC_EXPLAIN_COMPUTE_H_

#include <cstdint>

#include "qkv/reference.h"
#include "qkv/status.h"
#include "src/explain/request.h"

namespace qkv {

// Binds a request's arrays to the reference's arguments.
// Constraint: the request outlives it; its values may change between calls, its shapes may not.
class Computation {
 public:
  // Errors: kInvalidArgument if a mask holds something other than 0 and 1; kShapeMismatch if d_output does not fit.
  static Result<Computation> create(Request& request);

  // Every stage, those of the backward pass too if the request asks for it. Errors: the reference's.
  Result<Trace> trace() const;

  // L = Σ d_output ⊙ output; d_output is all ones where the request has none.
  Result<double> loss() const;

 private:
  explicit Computation(Request& request) : request_(request) {}
  Status bind();
  AttentionInputs inputs() const;
  AttentionOptions options() const;
  LayerParameters parameters() const;
  LayerOptions layer_options() const;
  Result<Tensor> output() const;
  View<const void> view_of(std::string_view name) const;

  Request& request_;
  Tensor keep_, key_mask_;  // u8
};

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_COMPUTE_H_
