// The textbook computation in the type of its tensors, one row of scores after the other.
#include "src/check/plain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "src/core/check_attention.h"
#include "src/core/status_macros.h"
#include "src/ops/attention/attention_ref_rules.h"

namespace qkv::check {
namespace {

using reference::RowIndex;
using reference::RowRules;

template <class Real>
Real rounded_to(DType dtype, Real value) {
  if (dtype == DType::kBF16) return static_cast<Real>(to_float(to_bf16(value)));
  if (dtype == DType::kF16) return static_cast<Real>(to_float(to_f16(value)));
  return value;
}

// The tensors as contiguous Real, and one row's memory.
template <class Real>
class Plain {
 public:
  Plain(const AttentionShape& shape, const AttentionOptions& options, DType input, const Tensor& q, const Tensor& k,
        const Tensor& v)
      : shape_(shape),
        options_(options),
        input_(input),
        scale_(static_cast<Real>(resolve_scale(shape, options))),
        q_(q.data<Real>()),
        k_(k.data<Real>()),
        v_(v.data<Real>()),
        scores_(static_cast<std::size_t>(shape.key_length)),
        seen_(static_cast<std::size_t>(shape.key_length)) {}

  // Writes o [Dv] and returns lse.
  Real row(RowIndex at, Real* o) {
    score(at);
    const Real sink =
        options_.sinks.empty() ? kHidden : static_cast<Real>(options_.sinks[static_cast<std::size_t>(at.h)]);
    Real maximum = sink;
    for (std::size_t j = 0; j < scores_.size(); ++j)
      if (seen_[j]) maximum = std::max(maximum, scores_[j]);
    const Real shift = maximum == kHidden ? 0 : maximum;  // nothing is seen, or NaN only
    Real sum = exact_exp(sink - shift);
    for (std::size_t j = scores_.size(); j-- > 0;)
      if (seen_[j]) sum += scores_[j] = exact_exp(scores_[j] - shift);
    if (sum == 0) return kHidden;
    mix(at, sum, o);
    return shift + static_cast<Real>(std::log(static_cast<double>(sum)));
  }

  double largest_value() const { return largest_value_; }

 private:
  static constexpr Real kHidden = -std::numeric_limits<Real>::infinity();

  static Real exact_exp(Real x) { return static_cast<Real>(std::exp(static_cast<double>(x))); }

  std::int64_t kv_row(RowIndex at, std::int64_t j) const {
    return (at.b * shape_.kv_heads + at.h / shape_.group()) * shape_.key_length + j;
  }

  void score(RowIndex at) {
    const RowRules rules(shape_, options_, at);
    const Real* q = q_ + ((at.b * shape_.query_heads + at.h) * shape_.query_length + at.i) * shape_.width;
    for (std::int64_t j = 0; j < shape_.key_length; ++j) {
      const auto slot = static_cast<std::size_t>(j);
      seen_[slot] = rules.allowed(j);
      if (!seen_[slot]) continue;
      const Real* k = k_ + kv_row(at, j) * shape_.width;
      Real s = 0;
      for (std::int64_t c = shape_.width; c-- > 0;) s += q[c] * k[c];
      s *= scale_;
      if (options_.softcap)
        s = static_cast<Real>(*options_.softcap) * std::tanh(s / static_cast<Real>(*options_.softcap));
      scores_[slot] = s + static_cast<Real>(rules.bias(j));
      if (scores_[slot] == kHidden) seen_[slot] = false;  // its weight is 0 whatever its value
    }
  }

  void mix(RowIndex at, Real sum, Real* o) {
    for (std::int64_t j = shape_.key_length; j-- > 0;) {
      const auto slot = static_cast<std::size_t>(j);
      if (!seen_[slot]) continue;
      const Real p = rounded_to(input_, scores_[slot] / sum);
      const Real* v = v_ + kv_row(at, j) * shape_.value_width;
      for (std::int64_t c = 0; c < shape_.value_width; ++c) {
        o[c] += p * v[c];
        if (std::isfinite(v[c])) largest_value_ = std::max(largest_value_, std::fabs(static_cast<double>(v[c])));
      }
    }
  }

  const AttentionShape& shape_;
  const AttentionOptions& options_;
  DType input_;
  Real scale_;
  const Real *q_, *k_, *v_;
  std::vector<Real> scores_;
  std::vector<bool> seen_;
  double largest_value_ = 0;
};

template <class Real>
Result<PlainResult> compute(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                            DType output) {
  constexpr DType kReal = dtype_of<Real>();
  QKV_ASSIGN_OR_RETURN(const Tensor q, converted(inputs.q, kReal));
  QKV_ASSIGN_OR_RETURN(const Tensor k, converted(inputs.k, kReal));
  QKV_ASSIGN_OR_RETURN(const Tensor v, converted(inputs.v, kReal));
  QKV_ASSIGN_OR_RETURN(Tensor o,
                       Tensor::zeros(kReal, {shape.batch, shape.query_heads, shape.query_length, shape.value_width}));
  PlainResult result;
  QKV_ASSIGN_OR_RETURN(result.lse, Tensor::zeros(kReal, {shape.batch, shape.query_heads, shape.query_length}));
  Plain<Real> plain(shape, options, inputs.q.dtype, q, k, v);
  Real* next_o = o.data<Real>();
  Real* next_lse = result.lse.data<Real>();
  for (std::int64_t b = 0; b < shape.batch; ++b)
    for (std::int64_t h = 0; h < shape.query_heads; ++h)
      for (std::int64_t i = 0; i < shape.query_length; ++i) {
        *next_lse++ = plain.row({b, h, i}, next_o);
        next_o += shape.value_width;
      }
  QKV_ASSIGN_OR_RETURN(result.o, converted(o.view(), output));
  result.largest_value = plain.largest_value();
  return result;
}

}  // namespace

Result<PlainResult> plain_attention_forward(const AttentionInputs& inputs, const AttentionOptions& options,
                                            DType output) {
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(inputs, options, TypeRule::kSameType));
  if (inputs.q.dtype == DType::kF64) return compute<double>(shape, inputs, options, output);
  return compute<float>(shape, inputs, options, output);
}

}  // namespace qkv::check
