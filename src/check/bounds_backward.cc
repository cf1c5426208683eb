// Bounds of gradients, from the plain computation's own error.
#include <algorithm>
#include <cmath>

#include "src/check/bounds.h"
#include "src/check/plain.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

// The bound of one gradient. `type`: of its factors. A sum may be larger than all of them, and each of its steps is
// rounded at that size: the largest gradient counts as a factor too.
Result<Bound> bound_of(const Tensor& plain, const Tensor& want, DType type, double factor) {
  if (!want.is_present()) return Bound{};
  QKV_ASSIGN_OR_RETURN(const Comparison comparison, compare(plain.view(), want.view(), {}));
  for (std::int64_t i = 0; i < want.size(); ++i)
    if (const double value = std::fabs(want.data<double>()[i]); std::isfinite(value)) factor = std::max(factor, value);
  return gradient_bound(type, comparison.largest_error, factor);
}

Result<Comparison> judge_one(View<const void> got, const Tensor& want, const Bound& bound) {
  // Without heads the reference cannot tell sinks from none.
  if (!got.is_present() || (!want.is_present() && element_count(got.shape) == 0)) return Comparison{};
  return compare(got, want.view(), bound);
}

}  // namespace

Result<BackwardExpectation> expect_backward(const AttentionInputs& inputs, View<const void> d_o, View<const void> d_lse,
                                            const AttentionOptions& options, DType output) {
  BackwardExpectation expectation;
  QKV_ASSIGN_OR_RETURN(const Tensor q, converted(inputs.q, DType::kF64));  // the reference is fastest on plain doubles
  QKV_ASSIGN_OR_RETURN(const Tensor k, converted(inputs.k, DType::kF64));
  QKV_ASSIGN_OR_RETURN(const Tensor v, converted(inputs.v, DType::kF64));
  QKV_ASSIGN_OR_RETURN(const Tensor from_above, converted(d_o, DType::kF64));
  reference::AttentionGradients& want = expectation.want;
  QKV_ASSIGN_OR_RETURN(
      want, reference::attention_backward({q.view(), k.view(), v.view()}, from_above.view(), d_lse, options));
  QKV_ASSIGN_OR_RETURN(const PlainGradients plain, plain_attention_backward(inputs, d_o, d_lse, options, output));
  const DType type = inputs.q.dtype;
  const double score = plain.largest_score;
  QKV_ASSIGN_OR_RETURN(expectation.dq, bound_of(plain.dq, want.dq, type, std::max(score, plain.largest_key)));
  QKV_ASSIGN_OR_RETURN(expectation.dk, bound_of(plain.dk, want.dk, type, std::max(score, plain.largest_query)));
  QKV_ASSIGN_OR_RETURN(expectation.dv, bound_of(plain.dv, want.dv, type, plain.largest_output));
  QKV_ASSIGN_OR_RETURN(expectation.dbias, bound_of(plain.dbias, want.dbias, type, std::max(score, plain.largest_bias)));
  QKV_ASSIGN_OR_RETURN(expectation.dsinks, bound_of(plain.dsinks, want.dsinks, type, plain.largest_sink));
  return expectation;
}

Result<BackwardVerdict> judge(const BackwardExpectation& expectation, const AttentionBackwardOutputs& outputs) {
  const reference::AttentionGradients& want = expectation.want;
  BackwardVerdict verdict;
  QKV_ASSIGN_OR_RETURN(verdict.dq, judge_one(outputs.dq, want.dq, expectation.dq));
  QKV_ASSIGN_OR_RETURN(verdict.dk, judge_one(outputs.dk, want.dk, expectation.dk));
  QKV_ASSIGN_OR_RETURN(verdict.dv, judge_one(outputs.dv, want.dv, expectation.dv));
  QKV_ASSIGN_OR_RETURN(verdict.dbias, judge_one(outputs.dbias, want.dbias, expectation.dbias));
  QKV_ASSIGN_OR_RETURN(verdict.dsinks, judge_one(outputs.dsinks, want.dsinks, expectation.dsinks));
  return verdict;
}

std::string to_string(const BackwardVerdict& verdict) {
  return "dq: " + to_string(verdict.dq) + "; dk: " + to_string(verdict.dk) + "; dv: " + to_string(verdict.dv) +
         "; dbias: " + to_string(verdict.dbias) + "; dsinks: " + to_string(verdict.dsinks);
}

}  // namespace qkv::check
