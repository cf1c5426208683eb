// One row of the textbook softmax in the type of its tensors: what the plain forward and backward computations share.
#ifndef QKV_SRC_CHECK_PLAIN_ROW_H_
#define QKV_SRC_CHECK_PLAIN_ROW_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "qkv/tensor.h"
#include "src/core/check_attention.h"
#include "src/ops/attention/attention_ref_rules.h"

namespace qkv::check {

// A value as a bf16 or f16 tensor would hold it; itself for the wider types.
template <class Real>
Real rounded_to(DType dtype, Real value) {
  if constexpr (sizeof(Real) <= sizeof(double)) {
    if (dtype == DType::kBF16) return static_cast<Real>(to_float(to_bf16(value)));
    if (dtype == DType::kF16) return static_cast<Real>(to_float(to_f16(value)));
  }
  return value;
}

// Scores and weights of one row after the other. Constraint: q [B,Hq,Tq,D] and k [B,Hkv,Tk,D] are contiguous; they, the
// shape and the options outlive the object.
template <class Real>
class PlainRow {
 public:
  static constexpr Real kHidden = -std::numeric_limits<Real>::infinity();

  PlainRow(const AttentionShape& shape, const AttentionOptions& options, const Real* q, const Real* k)
      : shape_(shape),
        options_(options),
        scale_(static_cast<Real>(resolve_scale(shape, options))),
        q_(q),
        k_(k),
        weights_(static_cast<std::size_t>(shape.key_length)),
        bend_(static_cast<std::size_t>(shape.key_length), Real{1}),
        seen_(static_cast<std::size_t>(shape.key_length)) {}

  // Computes the row's weights and returns its lse: −inf if the row is empty.
  Real weigh(reference::RowIndex at) {
    score(at);
    const Real sink =
        options_.sinks.empty() ? kHidden : static_cast<Real>(options_.sinks[static_cast<std::size_t>(at.h)]);
    Real maximum = sink;
    for (std::size_t j = 0; j < weights_.size(); ++j)
      if (seen_[j]) maximum = std::max(maximum, weights_[j]);
    const Real shift = maximum == kHidden ? 0 : maximum;  // nothing is seen, or NaN only
    const Real of_sink = exact_exp(sink - shift);
    Real sum = of_sink;
    for (std::size_t j = weights_.size(); j-- > 0;)
      if (seen_[j]) sum += weights_[j] = exact_exp(weights_[j] - shift);
    sink_weight_ = sum == 0 ? 0 : of_sink / sum;
    for (std::size_t j = 0; j < weights_.size(); ++j) weights_[j] = seen_[j] && sum != 0 ? weights_[j] / sum : 0;
    return sum == 0 ? kHidden : shift + static_cast<Real>(std::log(static_cast<Wide>(sum)));
  }

  bool sees(std::int64_t j) const { return seen_[static_cast<std::size_t>(j)]; }
  Real weight(std::int64_t j) const { return weights_[static_cast<std::size_t>(j)]; }
  Real sink_weight() const { return sink_weight_; }
  // 1 − tanh² of the softcap; 1 without one.
  Real bend(std::int64_t j) const { return bend_[static_cast<std::size_t>(j)]; }
  Real scale() const { return scale_; }
  // Which row of a KV tensor [B,Hkv,Tk,·] key j is.
  std::int64_t kv_row(reference::RowIndex at, std::int64_t j) const {
    return (at.b * shape_.kv_heads + at.h / shape_.group()) * shape_.key_length + j;
  }

 private:
  // Exponentials and logarithms are exact for their type: f32's in double.
  using Wide = std::conditional_t<(sizeof(Real) > sizeof(double)), Real, double>;
  static Real exact_exp(Real x) { return static_cast<Real>(std::exp(static_cast<Wide>(x))); }

  // Sums run from right to left: see plain.h.
  void score(reference::RowIndex at) {
    const reference::RowRules rules(shape_, options_, at);
    const Real* q = q_ + ((at.b * shape_.query_heads + at.h) * shape_.query_length + at.i) * shape_.width;
    for (std::int64_t j = 0; j < shape_.key_length; ++j) {
      const auto slot = static_cast<std::size_t>(j);
      seen_[slot] = rules.allowed(j);
      if (!seen_[slot]) continue;
      const Real* k = k_ + kv_row(at, j) * shape_.width;
      Real s = 0;
      for (std::int64_t c = shape_.width; c-- > 0;) s += q[c] * k[c];
      s *= scale_;
      if (options_.softcap) {
        const auto cap = static_cast<Real>(*options_.softcap);
        const Real bent = std::tanh(s / cap);
        s = cap * bent;
        bend_[slot] = 1 - bent * bent;
      }
      weights_[slot] = s + static_cast<Real>(rules.bias(j));
      if (weights_[slot] == kHidden) seen_[slot] = false;  // its weight is 0 whatever its value
    }
  }

  const AttentionShape& shape_;
  const AttentionOptions& options_;
  Real scale_;
  const Real *q_, *k_;
  std::vector<Real> weights_, bend_;
  std::vector<bool> seen_;
  Real sink_weight_ = 0;
};

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_PLAIN_ROW_H_
