// The forward layer in float64: norm, projections, attention, merge, output projection.
#include <string>
#include <utility>

#include "qkv/reference.h"
#include "src/core/check_layer.h"
#include "src/core/status_macros.h"
#include "src/core/trace.h"
#include "src/layer/layer_ref_steps.h"
#include "src/ops/project/project_ref.h"

namespace qkv::reference {
namespace {

// A parameter that is present becomes a stage, so that `from` can name it.
Status add_parameters(Trace& stages, const LayerParameters& p) {
  struct Parameter {
    const char* name;
    View<const void> view;
    std::vector<std::string> dims;
  };
  const Parameter all[] = {{"gamma", p.gamma, {"C"}},     {"beta", p.beta, {"C"}},      {"wq", p.wq, {"C", "Hq*D"}},
                           {"bq", p.bq, {"Hq*D"}},        {"wk", p.wk, {"C", "Hkv*D"}}, {"bk", p.bk, {"Hkv*D"}},
                           {"wv", p.wv, {"C", "Hkv*Dv"}}, {"bv", p.bv, {"Hkv*Dv"}},     {"wo", p.wo, {"Hq*Dv", "Cout"}},
                           {"bo", p.bo, {"Cout"}}};
  for (const auto& [name, view, dims] : all)
    if (view.is_present()) QKV_RETURN_IF_ERROR(add_stage(stages, {name, "", dims, {}, {}}, view));
  return {};
}

Status add_norm(Trace& stages, const ProjectedHeads& projected, const LayerParameters& p) {
  Stage u{"u", "x", {"B", "T", "C"}, {"x"}, {}};
  if (projected.mean.is_present()) {
    QKV_RETURN_IF_ERROR(add_stage(stages, {"mean", "mean(x)", {"B", "T"}, {"x"}, {}}, projected.mean.view()));
    QKV_RETURN_IF_ERROR(
        add_stage(stages, {"sigma", "√(var(x) + eps)", {"B", "T"}, {"x", "mean"}, {}}, projected.sigma.view()));
    u.formula = "(x − mean) / sigma";
    u.from = {"x", "mean", "sigma"};
    if (p.gamma.is_present()) {
      u.formula += " · gamma";
      u.from.emplace_back("gamma");
    }
    if (p.beta.is_present()) {
      u.formula += " + beta";
      u.from.emplace_back("beta");
    }
  }
  return add_stage(stages, std::move(u), projected.u.view());
}

// Attention records q, k, v as given; here they were made.
void explain_projections(Trace& stages, const LayerParameters& p) {
  for (Stage& stage : stages.stages) {
    if (stage.name != "q" && stage.name != "k" && stage.name != "v") continue;
    const bool biased = (stage.name == "q" ? p.bq : stage.name == "k" ? p.bk : p.bv).is_present();
    stage.formula = "u · w" + stage.name + (biased ? " + b" + stage.name : "") + ", split into heads";
    stage.from = {"u", "w" + stage.name};
    if (biased) stage.from.push_back("b" + stage.name);
  }
}

Status add_output(Trace& stages, const Tensor& merged, const Tensor& y, const LayerParameters& p) {
  QKV_RETURN_IF_ERROR(
      add_stage(stages, {"merged", "the heads of o beside each other", {"B", "T", "Hq*Dv"}, {"o"}, {}}, merged.view()));
  if (!p.wo.is_present()) return {};
  Stage stage{"y", "merged · wo", {"B", "T", "Cout"}, {"merged", "wo"}, {}};
  if (p.bo.is_present()) {
    stage.formula += " + bo";
    stage.from.emplace_back("bo");
  }
  return add_stage(stages, std::move(stage), y.view());
}

}  // namespace

Result<Tensor> layer_forward(View<const void> x, const LayerParameters& parameters, const LayerOptions& options,
                             Trace* trace) {
  QKV_ASSIGN_OR_RETURN(const LayerShape shape, check_layer(x, parameters, options));
  const LayerParameters p = separated(shape, parameters);
  QKV_ASSIGN_OR_RETURN(const ProjectedHeads projected, project_heads(x, p, options));
  Trace stages;
  if (trace != nullptr) {
    QKV_RETURN_IF_ERROR(add_stage(stages, {"x", "", {"B", "T", "C"}, {}, {}}, x));
    QKV_RETURN_IF_ERROR(add_parameters(stages, p));
    QKV_RETURN_IF_ERROR(add_norm(stages, projected, p));
  }
  QKV_ASSIGN_OR_RETURN(const AttentionResult attended,
                       attention_forward(projected.heads(shape), options.attention, trace ? &stages : nullptr));
  QKV_ASSIGN_OR_RETURN(Tensor merged, merge_heads(attended.o));
  Tensor y;
  if (p.wo.is_present()) {
    QKV_ASSIGN_OR_RETURN(y, project_forward(merged.view(), p.wo, p.bo));
  }
  if (trace != nullptr) {
    explain_projections(stages, p);
    QKV_RETURN_IF_ERROR(add_output(stages, merged, y, p));
    append_stages(*trace, std::move(stages));
  }
  return p.wo.is_present() ? std::move(y) : std::move(merged);
}

}  // namespace qkv::reference
