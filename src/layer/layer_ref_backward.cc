// The gradient of a layer in float64, its steps in reverse order.
#include <string>
#include <utility>

#include "qkv/reference.h"
#include "src/core/check_layer.h"
#include "src/core/status_macros.h"
#include "src/core/trace.h"
#include "src/layer/layer_ref_steps.h"
#include "src/ops/layernorm/layernorm_ref.h"
#include "src/ops/project/project_ref.h"

namespace qkv::reference {
namespace {

// y = merged wo + bo. Returns the gradient of the merged heads [B,T,Hq·Dv].
Result<Tensor> backward_output(const Tensor& merged, const LayerParameters& p, View<const void> d_y,
                               LayerGradients& out) {
  if (!p.wo.is_present()) return converted(d_y, DType::kF64);
  QKV_ASSIGN_OR_RETURN(ProjectGradients gradients, project_backward(merged.view(), p.wo, d_y));
  out.dwo = std::move(gradients.dw);
  if (p.bo.is_present()) out.dbo = std::move(gradients.db);
  return std::move(gradients.dx);
}

// One of q, k, v = u w + b. Adds its share to du [B,T,C]. `split` is its gradient by heads.
Status backward_projection(const Tensor& u, View<const void> w, const Tensor& split, Tensor& du, Tensor& dw,
                           Tensor& db) {
  QKV_ASSIGN_OR_RETURN(const Tensor merged, merge_heads(split));
  QKV_ASSIGN_OR_RETURN(ProjectGradients gradients, project_backward(u.view(), w, merged.view()));
  for (std::int64_t i = 0; i < du.size(); ++i) du.data<double>()[i] += gradients.dx.data<double>()[i];
  dw = std::move(gradients.dw);
  db = std::move(gradients.db);
  return {};
}

Status backward_norm(View<const void> x, const LayerParameters& p, const LayerOptions& options, Tensor& du,
                     LayerGradients& out) {
  if (options.norm == Norm::kNone) {
    QKV_ASSIGN_OR_RETURN(out.dx, converted(du.view(), DType::kF64));
    return {};
  }
  QKV_ASSIGN_OR_RETURN(LayerNormGradients gradients, layernorm_backward(x, du.view(), {p.gamma, p.beta, options.eps}));
  out.dx = std::move(gradients.dx);
  if (p.gamma.is_present()) out.dgamma = std::move(gradients.dgamma);
  if (p.beta.is_present()) out.dbeta = std::move(gradients.dbeta);
  return {};
}

Status add_output_stages(Trace& stages, View<const void> d_y, const Tensor& d_merged, bool with_wo) {
  QKV_RETURN_IF_ERROR(add_stage(stages, {"dy", "", {"B", "T", "Cout"}, {}, {}}, d_y));
  Stage stage{"dmerged", "dy", {"B", "T", "Hq*Dv"}, {"dy"}, {}};
  if (with_wo) {
    stage.formula = "dy · woᵀ";
    stage.from.emplace_back("wo");
  }
  return add_stage(stages, std::move(stage), d_merged.view());
}

// du, dx and the parameters' gradients; those of absent parameters are left out.
Status add_input_stages(Trace& stages, const Tensor& du, const LayerGradients& g, bool with_norm) {
  const bool scaled = g.dgamma.is_present();
  std::string dx = "du";
  std::vector<std::string> dx_from = {"du"};
  if (with_norm) {
    dx = "(g − mean(g) − xhat · mean(g ⊙ xhat)) / sigma with g = du" + std::string(scaled ? " ⊙ gamma" : "") +
         ", xhat = (x − mean) / sigma";
    dx_from = {"du", "x", "mean", "sigma"};
    if (scaled) dx_from.emplace_back("gamma");
  }
  struct Gradient {
    const Tensor* values;
    std::string name, formula;
    std::vector<std::string> dims, from;
  };
  const Gradient all[] = {
      {&du, "du", "dq · wqᵀ + dk · wkᵀ + dv · wvᵀ", {"B", "T", "C"}, {"dq", "dk", "dv", "wq", "wk", "wv"}},
      {&g.dx, "dx", dx, {"B", "T", "C"}, dx_from},
      {&g.dgamma, "dgamma", "Σ du ⊙ xhat", {"C"}, {"du", "x", "mean", "sigma"}},
      {&g.dbeta, "dbeta", "Σ du", {"C"}, {"du"}},
      {&g.dwq, "dwq", "uᵀ · dq", {"C", "Hq*D"}, {"u", "dq"}},
      {&g.dbq, "dbq", "Σ dq", {"Hq*D"}, {"dq"}},
      {&g.dwk, "dwk", "uᵀ · dk", {"C", "Hkv*D"}, {"u", "dk"}},
      {&g.dbk, "dbk", "Σ dk", {"Hkv*D"}, {"dk"}},
      {&g.dwv, "dwv", "uᵀ · dv", {"C", "Hkv*Dv"}, {"u", "dv"}},
      {&g.dbv, "dbv", "Σ dv", {"Hkv*Dv"}, {"dv"}},
      {&g.dwo, "dwo", "mergedᵀ · dy", {"Hq*Dv", "Cout"}, {"merged", "dy"}},
      {&g.dbo, "dbo", "Σ dy", {"Cout"}, {"dy"}},
  };
  for (const auto& [values, name, formula, dims, from] : all)
    if (values->is_present()) QKV_RETURN_IF_ERROR(add_stage(stages, {name, formula, dims, from, {}}, values->view()));
  return {};
}

// Attention's backward stages behind the layer's; what the forward pass has recorded is not repeated.
void append_attention(Trace& stages, Trace attention) {
  for (Stage& stage : attention.stages)
    if (stage.name == "do") {
      stage.formula = "dmerged, split into heads";
      stage.from = {"dmerged"};
    }
  append_stages(stages, std::move(attention));
}

// q, k, v back to u and x.
Status backward_inputs(View<const void> x, const LayerParameters& p, const LayerOptions& options,
                       const ProjectedHeads& projected, const AttentionGradients& attention, Tensor& du,
                       LayerGradients& out) {
  QKV_ASSIGN_OR_RETURN(du, Tensor::zeros(DType::kF64, projected.u.shape()));
  Tensor dbq, dbk, dbv;
  QKV_RETURN_IF_ERROR(backward_projection(projected.u, p.wq, attention.dq, du, out.dwq, dbq));
  QKV_RETURN_IF_ERROR(backward_projection(projected.u, p.wk, attention.dk, du, out.dwk, dbk));
  QKV_RETURN_IF_ERROR(backward_projection(projected.u, p.wv, attention.dv, du, out.dwv, dbv));
  if (p.bq.is_present()) out.dbq = std::move(dbq);
  if (p.bk.is_present()) out.dbk = std::move(dbk);
  if (p.bv.is_present()) out.dbv = std::move(dbv);
  return backward_norm(x, p, options, du, out);
}

}  // namespace

Result<LayerGradients> layer_backward(View<const void> x, const LayerParameters& parameters, View<const void> d_y,
                                      const LayerOptions& options, Trace* trace) {
  QKV_ASSIGN_OR_RETURN(const LayerShape shape, check_layer(x, parameters, options));
  QKV_RETURN_IF_ERROR(check_layer_gradient(shape, d_y));
  const LayerParameters p = separated(shape, parameters);
  QKV_ASSIGN_OR_RETURN(const ProjectedHeads projected, project_heads(x, p, options));
  const AttentionInputs heads = projected.heads(shape);
  QKV_ASSIGN_OR_RETURN(const AttentionResult attended, attention_forward(heads, options.attention));
  QKV_ASSIGN_OR_RETURN(const Tensor merged, merge_heads(attended.o));

  LayerGradients out;
  QKV_ASSIGN_OR_RETURN(const Tensor d_merged, backward_output(merged, p, d_y, out));
  Trace attention_stages;
  QKV_ASSIGN_OR_RETURN(const AttentionGradients attention,
                       attention_backward(heads, split_heads(d_merged, shape.query_heads), {}, options.attention,
                                          trace == nullptr ? nullptr : &attention_stages));
  Tensor du;
  QKV_RETURN_IF_ERROR(backward_inputs(x, p, options, projected, attention, du, out));
  if (trace == nullptr) return out;

  Trace stages;
  QKV_ASSIGN_OR_RETURN(const Tensor y, layer_forward(x, parameters, options, &stages));
  QKV_RETURN_IF_ERROR(add_output_stages(stages, d_y, d_merged, p.wo.is_present()));
  append_attention(stages, std::move(attention_stages));
  QKV_RETURN_IF_ERROR(add_input_stages(stages, du, out, options.norm == Norm::kLayerNorm));
  append_stages(*trace, std::move(stages));
  return out;
}

}  // namespace qkv::reference
