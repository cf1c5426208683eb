// The textbook computation in the type of its tensors, one row of scores after the other.
#include "src/check/plain.h"

#include <algorithm>
#include <cmath>

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
  Plain(const AttentionShape& shape, const AttentionOptions& options, DType input, const Tensor& q, const Tensor& k,
        const Tensor& v)
      : shape_(shape), input_(input), v_(v.data<Real>()), row_(shape, options, q.data<Real>(), k.data<Real>()) {}

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
