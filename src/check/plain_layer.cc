// A layer of plain parts: what is handed from one to the next is rounded to the tensors' type.
#include "src/check/plain_layer.h"

#include <utility>

#include "src/check/heads.h"
#include "src/check/plain.h"
#include "src/core/check_layer.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

// The steps up to attention's result.
struct Steps {
  Tensor u, q, k, v, merged;
  AttentionInputs heads(const LayerShape& shape) const {
    return {split(q, shape.query_heads), split(k, shape.kv_heads), split(v, shape.kv_heads)};
  }
};

Result<Steps> steps_of(View<const void> x, const LayerShape& shape, const LayerParameters& p,
                       const LayerOptions& options) {
  Steps steps;
  if (options.norm == Norm::kLayerNorm) {
    QKV_ASSIGN_OR_RETURN(steps.u, plain_layernorm_forward(x, {p.gamma, p.beta, options.eps}, x.dtype));
  } else {
    QKV_ASSIGN_OR_RETURN(steps.u, converted(x, x.dtype));
  }
  QKV_ASSIGN_OR_RETURN(steps.q, plain_project_forward(steps.u.view(), p.wq, p.bq, x.dtype));
  QKV_ASSIGN_OR_RETURN(steps.k, plain_project_forward(steps.u.view(), p.wk, p.bk, x.dtype));
  QKV_ASSIGN_OR_RETURN(steps.v, plain_project_forward(steps.u.view(), p.wv, p.bv, x.dtype));
  QKV_ASSIGN_OR_RETURN(const PlainResult attended,
                       plain_attention_forward(steps.heads(shape), options.attention, x.dtype));
  QKV_ASSIGN_OR_RETURN(steps.merged, merge(attended.o));
  return steps;
}

// Adds to `sum`, rounding after each addition as a framework does.
Status add(Tensor& sum, const Tensor& term) {
  QKV_ASSIGN_OR_RETURN(Tensor wide, converted(sum.view(), DType::kF64));
  for (std::int64_t i = 0; i < wide.size(); ++i) wide.data<double>()[i] += element_as_double(term.view(), i);
  QKV_ASSIGN_OR_RETURN(sum, converted(wide.view(), sum.dtype()));
  return {};
}

Status backward_projection(const Steps& steps, View<const void> w, const Tensor& heads, Tensor& du, Tensor& dw,
                           Tensor& db) {
  QKV_ASSIGN_OR_RETURN(const Tensor d_output, merge(heads));
  QKV_ASSIGN_OR_RETURN(reference::ProjectGradients gradients,
                       plain_project_backward(steps.u.view(), w, d_output.view(), heads.dtype()));
  dw = std::move(gradients.dw);
  db = std::move(gradients.db);
  return add(du, gradients.dx);
}

}  // namespace

Result<Tensor> plain_layer_forward(View<const void> x, const LayerParameters& parameters, const LayerOptions& options) {
  QKV_ASSIGN_OR_RETURN(const LayerShape shape, check_layer(x, parameters, options));
  const LayerParameters p = separated(shape, parameters);
  QKV_ASSIGN_OR_RETURN(Steps steps, steps_of(x, shape, p, options));
  if (!p.wo.is_present()) return std::move(steps.merged);
  return plain_project_forward(steps.merged.view(), p.wo, p.bo, x.dtype);
}

Result<reference::LayerGradients> plain_layer_backward(View<const void> x, const LayerParameters& parameters,
                                                       View<const void> d_y, const LayerOptions& options) {
  QKV_ASSIGN_OR_RETURN(const LayerShape shape, check_layer(x, parameters, options));
  const LayerParameters p = separated(shape, parameters);
  QKV_ASSIGN_OR_RETURN(const Steps steps, steps_of(x, shape, p, options));
  reference::LayerGradients out;
  QKV_ASSIGN_OR_RETURN(Tensor d_merged, converted(d_y, x.dtype));
  if (p.wo.is_present()) {
    QKV_ASSIGN_OR_RETURN(reference::ProjectGradients output,
                         plain_project_backward(steps.merged.view(), p.wo, d_y, x.dtype));
    out.dwo = std::move(output.dw);
    out.dbo = std::move(output.db);
    d_merged = std::move(output.dx);
  }
  QKV_ASSIGN_OR_RETURN(
      const PlainGradients attention,
      plain_attention_backward(steps.heads(shape), split(d_merged, shape.query_heads), {}, options.attention, x.dtype));
  QKV_ASSIGN_OR_RETURN(Tensor du, Tensor::zeros(x.dtype, x.shape));
  QKV_RETURN_IF_ERROR(backward_projection(steps, p.wq, attention.dq, du, out.dwq, out.dbq));
  QKV_RETURN_IF_ERROR(backward_projection(steps, p.wk, attention.dk, du, out.dwk, out.dbk));
  QKV_RETURN_IF_ERROR(backward_projection(steps, p.wv, attention.dv, du, out.dwv, out.dbv));
  if (options.norm == Norm::kNone) {
    out.dx = std::move(du);
    return out;
  }
  QKV_ASSIGN_OR_RETURN(reference::LayerNormGradients norm,
                       plain_layernorm_backward(x, du.view(), {p.gamma, p.beta, options.eps}, x.dtype));
  out.dx = std::move(norm.dx);
  out.dgamma = std::move(norm.dgamma);
  out.dbeta = std::move(norm.dbeta);
  return out;
}

}  // namespace qkv::check
