// Norm, projections, and heads split and merged.
#include "src/layer/layer_ref_steps.h"

#include <algorithm>
#include <utility>

#include "src/core/status_macros.h"
#include "src/ops/layernorm/layernorm_ref.h"
#include "src/ops/project/project_ref.h"

namespace qkv::reference {

View<const void> split_heads(const Tensor& merged, std::int64_t heads) {
  const Dims& shape = merged.shape();
  const std::int64_t width = shape[2] / heads;
  const Dims by_token{shape[0], shape[1], heads, width};
  return swap_axes(View<const void>(merged.data<void>(), merged.dtype(), by_token), 1, 2);
}

Result<Tensor> merge_heads(const Tensor& split) {
  const Dims& shape = split.shape();
  QKV_ASSIGN_OR_RETURN(const Tensor by_token, converted(swap_axes(split.view(), 1, 2), DType::kF64));
  QKV_ASSIGN_OR_RETURN(Tensor merged, Tensor::zeros(DType::kF64, {shape[0], shape[2], shape[1] * shape[3]}));
  std::copy_n(by_token.data<double>(), by_token.size(), merged.data<double>());
  return merged;
}

AttentionInputs ProjectedHeads::heads(const LayerShape& shape) const {
  return {split_heads(q, shape.query_heads), split_heads(k, shape.kv_heads), split_heads(v, shape.kv_heads)};
}

Result<ProjectedHeads> project_heads(View<const void> x, const LayerParameters& parameters,
                                     const LayerOptions& options) {
  ProjectedHeads out;
  if (options.norm == Norm::kLayerNorm) {
    QKV_ASSIGN_OR_RETURN(LayerNormResult norm, layernorm_forward(x, {parameters.gamma, parameters.beta, options.eps}));
    out.mean = std::move(norm.mean);
    out.sigma = std::move(norm.sigma);
    out.u = std::move(norm.u);
  } else {
    QKV_ASSIGN_OR_RETURN(out.u, converted(x, DType::kF64));
  }
  QKV_ASSIGN_OR_RETURN(out.q, project_forward(out.u.view(), parameters.wq, parameters.bq));
  QKV_ASSIGN_OR_RETURN(out.k, project_forward(out.u.view(), parameters.wk, parameters.bk));
  QKV_ASSIGN_OR_RETURN(out.v, project_forward(out.u.view(), parameters.wv, parameters.bv));
  return out;
}

}  // namespace qkv::reference
