// The textbook gradient in the type of its tensors, one row of scores after the other.
#include <algorithm>
#include <cmath>
#include <vector>

#include "src/check/plain.h"
#include "src/check/plain_row.h"
#include "src/core/check_attention.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

using reference::RowIndex;

double larger(double a, double b) { return std::isfinite(b) ? std::max(a, std::fabs(b)) : a; }

// The tensors as contiguous Real; gradients as they grow.
template <class Real>
struct Tensors {
  Tensor q, k, v, o, d_o, d_lse;
  Tensor dq, dk, dv, dbias, dsinks;
  Tensor bias_sizes;  // Σ |ds| of each element of dbias, f64
};

template <class Real>
class PlainBackward {
 public:
  PlainBackward(const AttentionShape& shape, const AttentionOptions& options, DType input, Tensors<Real>& t,
                PlainGradients& result)
      : shape_(shape),
        options_(options),
        input_(input),
        t_(t),
        result_(result),
        row_(shape, options, t.q.template data<Real>(), t.k.template data<Real>()),
        sink_sizes_(options.sinks.size()) {
    if (!options.bias.is_present()) return;
    const View<const void> spread = broadcast_to_scores(shape, t.dbias.view());
    dbias_ = View<Real>(t.dbias.template data<Real>(), spread.shape, spread.strides);
    bias_sizes_ = View<double>(t.bias_sizes.template data<double>(), spread.shape, spread.strides);
  }

  void row(RowIndex at) {
    row_.weigh(at);
    const std::int64_t index = (at.b * shape_.query_heads + at.h) * shape_.query_length + at.i;
    const Real* d_o = t_.d_o.template data<Real>() + index * shape_.value_width;
    const Real from_lse = t_.d_lse.is_present() ? t_.d_lse.template data<Real>()[index] : Real{0};
    const Real delta = dot(d_o, t_.o.template data<Real>() + index * shape_.value_width, shape_.value_width);
    for (std::int64_t j = shape_.key_length; j-- > 0;)
      if (row_.sees(j)) pair(at, index, j, d_o, delta, from_lse);
    if (options_.sinks.empty()) return;
    const Real of_sink = row_.sink_weight() * (delta - from_lse);
    t_.dsinks.template data<Real>()[at.h] -= of_sink;
    double& size = sink_sizes_[static_cast<std::size_t>(at.h)];
    size += std::fabs(static_cast<double>(of_sink));
    for (const double part : {static_cast<double>(delta), static_cast<double>(delta - from_lse), size})
      result_.largest_sink = larger(result_.largest_sink, part);
  }

 private:
  static Real dot(const Real* a, const Real* b, std::int64_t count) {
    Real sum = 0;
    for (std::int64_t c = count; c-- > 0;) sum += a[c] * b[c];
    return sum;
  }

  void pair(RowIndex at, std::int64_t index, std::int64_t j, const Real* d_o, Real delta, Real from_lse) {
    const std::int64_t kv = row_.kv_row(at, j);
    const std::int64_t width = shape_.width, value_width = shape_.value_width;
    const Real p = row_.weight(j);
    const Real dp = dot(d_o, t_.v.template data<Real>() + kv * value_width, value_width);
    const Real ds = p * (dp - delta + from_lse);
    if (dbias_.data != nullptr) {
      dbias_(at.b, at.h, at.i, j) += ds;
      double& size = bias_sizes_(at.b, at.h, at.i, j);
      size += std::fabs(static_cast<double>(ds));
      result_.largest_bias = larger(result_.largest_bias, size);
    }
    const Real d_scaled = rounded_to(input_, ds * row_.bend(j));
    const Real* q = t_.q.template data<Real>() + index * width;
    const Real* k = t_.k.template data<Real>() + kv * width;
    Real* dq = t_.dq.template data<Real>() + index * width;
    Real* dk = t_.dk.template data<Real>() + kv * width;
    const Real scale = row_.scale();
    const Real rounded = rounded_to(input_, p);
    Real* dv = t_.dv.template data<Real>() + kv * value_width;
    for (std::int64_t c = 0; c < width; ++c) {
      dq[c] += d_scaled * scale * k[c];
      dk[c] += d_scaled * scale * q[c];
      result_.largest_key = larger(result_.largest_key, static_cast<double>(scale * k[c]));
      result_.largest_query = larger(result_.largest_query, static_cast<double>(scale * q[c]));
    }
    for (std::int64_t c = 0; c < value_width; ++c) {
      dv[c] += rounded * d_o[c];
      result_.largest_output = larger(result_.largest_output, static_cast<double>(d_o[c]));
    }
    for (const Real part : {dp, delta, dp - delta + from_lse})
      result_.largest_score = larger(result_.largest_score, static_cast<double>(part));
  }

  const AttentionShape& shape_;
  const AttentionOptions& options_;
  DType input_;
  Tensors<Real>& t_;
  PlainGradients& result_;
  PlainRow<Real> row_;
  View<Real> dbias_;
  View<double> bias_sizes_;
  std::vector<double> sink_sizes_;
};

template <class Real>
Result<PlainGradients> compute(const AttentionShape& shape, const AttentionInputs& inputs, View<const void> d_o,
                               View<const void> d_lse, const AttentionOptions& options, DType output) {
  constexpr DType kReal = dtype_of<Real>();
  Tensors<Real> t;
  PlainGradients result;
  QKV_ASSIGN_OR_RETURN(t.q, converted(inputs.q, kReal));
  QKV_ASSIGN_OR_RETURN(t.k, converted(inputs.k, kReal));
  QKV_ASSIGN_OR_RETURN(t.v, converted(inputs.v, kReal));
  QKV_ASSIGN_OR_RETURN(t.d_o, converted(d_o, kReal));
  if (d_lse.is_present()) {
    QKV_ASSIGN_OR_RETURN(t.d_lse, converted(d_lse, kReal));
  }
  QKV_ASSIGN_OR_RETURN(const PlainResult forward, plain_attention_forward(inputs, options, output));
  QKV_ASSIGN_OR_RETURN(t.o, converted(forward.o.view(), kReal));
  QKV_ASSIGN_OR_RETURN(t.dq, Tensor::zeros(kReal, inputs.q.shape));
  QKV_ASSIGN_OR_RETURN(t.dk, Tensor::zeros(kReal, inputs.k.shape));
  QKV_ASSIGN_OR_RETURN(t.dv, Tensor::zeros(kReal, inputs.v.shape));
  if (options.bias.is_present()) {
    QKV_ASSIGN_OR_RETURN(t.dbias, Tensor::zeros(kReal, options.bias.shape));
    QKV_ASSIGN_OR_RETURN(t.bias_sizes, Tensor::zeros(DType::kF64, options.bias.shape));
  }
  if (!options.sinks.empty()) {
    QKV_ASSIGN_OR_RETURN(t.dsinks, Tensor::zeros(kReal, {shape.query_heads}));
  }
  PlainBackward<Real> backward(shape, options, inputs.q.dtype, t, result);
  for (std::int64_t b = 0; b < shape.batch; ++b)
    for (std::int64_t h = 0; h < shape.query_heads; ++h)
      for (std::int64_t i = shape.query_length; i-- > 0;) backward.row({b, h, i});
  QKV_ASSIGN_OR_RETURN(result.dq, converted(t.dq.view(), output));
  QKV_ASSIGN_OR_RETURN(result.dk, converted(t.dk.view(), output));
  QKV_ASSIGN_OR_RETURN(result.dv, converted(t.dv.view(), output));
  if (options.bias.is_present()) {
    QKV_ASSIGN_OR_RETURN(result.dbias, converted(t.dbias.view(), options.bias.dtype));
  }
  result.dsinks = std::move(t.dsinks);
  return result;
}

}  // namespace

Result<PlainGradients> plain_attention_backward(const AttentionInputs& inputs, View<const void> d_o,
                                                View<const void> d_lse, const AttentionOptions& options, DType output) {
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(inputs, options, TypeRule::kSameType));
  QKV_RETURN_IF_ERROR(check_output_gradients(shape, d_o, d_lse));
  if (inputs.q.dtype == DType::kF64) return compute<double>(shape, inputs, d_o, d_lse, options, output);
  return compute<float>(shape, inputs, d_o, d_lse, options, output);
}

}  // namespace qkv::check
