// The textbook computation in the type of its tensors, one row of scores after the other.
#include "src/check/plain.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/check/plain_row.h"
#include "src/core/check_attention.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

using reference::RowIndex;

// The output rows, and the largest value that went into one.
template <class Real>
class Plain {
 public:
  Plain(const AttentionShape& shape, const AttentionOptions& options, DType input, const Real* q, const Real* k,
        const Real* v)
      : shape_(shape), input_(input), v_(v), row_(shape, options, q, k) {}

  // Writes o [Dv] and returns lse.
  Real row(RowIndex at, Real* o) {
    const Real lse = row_.weigh(at);
    for (std::int64_t j = shape_.key_length; j-- > 0;) {
      if (!row_.sees(j) || lse == PlainRow<Real>::kHidden) continue;
      const Real p = rounded_to(input_, row_.weight(j));
      const Real* v = v_ + row_.kv_row(at, j) * shape_.value_width;
      for (std::int64_t c = 0; c < shape_.value_width; ++c) {
        o[c] += p * v[c];
        if (std::isfinite(v[c])) largest_value_ = std::max(largest_value_, std::fabs(static_cast<double>(v[c])));
      }
    }
    return lse;
  }

  double largest_value() const { return largest_value_; }

 private:
  const AttentionShape& shape_;
  DType input_;
  const Real* v_;
  PlainRow<Real> row_;
  double largest_value_ = 0;
};

// The type of the tensors that hold what is computed in Real.
template <class Real>
using Stored = std::conditional_t<std::is_same_v<Real, float>, float, double>;

template <class Real>
Result<std::vector<Real>> elements_of(View<const void> view) {
  QKV_ASSIGN_OR_RETURN(const Tensor tensor, converted(view, dtype_of<Stored<Real>>()));
  const auto* data = tensor.data<Stored<Real>>();
  return std::vector<Real>(data, data + tensor.size());
}

template <class Real>
Result<Tensor> stored(const std::vector<Real>& elements, Dims shape) {
  QKV_ASSIGN_OR_RETURN(Tensor tensor, Tensor::zeros(dtype_of<Stored<Real>>(), std::move(shape)));
  std::ranges::transform(elements, tensor.data<Stored<Real>>(), [](Real x) { return static_cast<Stored<Real>>(x); });
  return tensor;
}

template <class Real>
Result<PlainResult> compute(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                            DType output) {
  QKV_ASSIGN_OR_RETURN(const std::vector<Real> q, elements_of<Real>(inputs.q));
  QKV_ASSIGN_OR_RETURN(const std::vector<Real> k, elements_of<Real>(inputs.k));
  QKV_ASSIGN_OR_RETURN(const std::vector<Real> v, elements_of<Real>(inputs.v));
  const std::int64_t rows = shape.batch * shape.query_heads * shape.query_length;
  std::vector<Real> o(static_cast<std::size_t>(rows * shape.value_width));
  std::vector<Real> lse(static_cast<std::size_t>(rows));
  Plain<Real> plain(shape, options, inputs.q.dtype, q.data(), k.data(), v.data());
  Real* next_o = o.data();
  Real* next_lse = lse.data();
  for (std::int64_t b = 0; b < shape.batch; ++b)
    for (std::int64_t h = 0; h < shape.query_heads; ++h)
      for (std::int64_t i = 0; i < shape.query_length; ++i) {
        *next_lse++ = plain.row({b, h, i}, next_o);
        next_o += shape.value_width;
      }
  PlainResult result;
  QKV_ASSIGN_OR_RETURN(result.lse, stored(lse, {shape.batch, shape.query_heads, shape.query_length}));
  QKV_ASSIGN_OR_RETURN(const Tensor exact,
                       stored(o, {shape.batch, shape.query_heads, shape.query_length, shape.value_width}));
  QKV_ASSIGN_OR_RETURN(result.o, converted(exact.view(), output));
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

Result<PlainResult> extended_attention_forward(const AttentionInputs& inputs, const AttentionOptions& options) {
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(inputs, options, TypeRule::kSameType));
  return compute<long double>(shape, inputs, options, DType::kF64);
}

}  // namespace qkv::check
