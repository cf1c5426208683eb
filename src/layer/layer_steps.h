// The steps of a layer around attention, each as plans that are first measured and then run.
#ifndef QKV_SRC_LAYER_LAYER_STEPS_H_
#define QKV_SRC_LAYER_LAYER_STEPS_H_

#include <algorithm>
#include <cstddef>

#include "qkv/attention.h"
#include "src/core/staged_progress.h"
#include "src/layer/layer_call.h"
#include "src/ops/layernorm/layernorm.h"
#include "src/ops/project/product.h"
#include "src/ops/project/row_passes.h"

namespace qkv {

// Enters a part of a call in the report of the whole.
inline void add_to(Report& report, const Report& part) {
  report.threads = std::max(report.threads, part.threads);
  report.tasks += part.tasks;
  report.flops += part.flops;
}

// Visits plans to find the scratch that the largest of them needs.
struct MeasurePlans {
  int threads;
  std::size_t bytes = 0;
  int stages = 0;
  template <class Plan>
  bool operator()(const Plan& plan) {
    bytes = std::max(bytes, plan.scratch_bytes(plan.threads(threads)));
    ++stages;
    return true;
  }
};

// Visits plans to run them one after the other; false once the caller has stopped it.
struct RunPlans {
  int threads;
  char* scratch;
  StagedProgress& progress;
  Report& report;
  template <class Plan>
  bool operator()(const Plan& plan) {
    const int used = plan.threads(threads);
    add_to(report, {.threads = used, .tasks = plan.tasks(), .flops = plan.flops()});
    return plan.run(scratch, used, progress.next_stage());
  }
};

// What the forward pass keeps in scratch, in this order, or in `kept`. Views are absent where a step is left out or
// writes elsewhere.
struct ForwardTensors {
  View<const void> u;  // [rows,C] in the compute type; x itself, if it is a matrix and there is no norm
  View<void> u_made;   // the same, where it is made
  View<void> qkv;      // [rows,qkv_width] in the tensors' type
  View<void> o;        // [rows,merged_width] in the compute type; absent: attention writes y
  View<void> y;        // [rows,Cout]; absent: y itself is a matrix
  ForwardTensors(const LayerCall& call, Arena& arena);
};

// u = norm(x). `visit` is MeasurePlans or RunPlans.
template <class Visit>
bool normalize(const LayerCall& call, const ForwardTensors& tensors, Visit&& visit) {
  if (!tensors.u_made.is_present()) return true;
  const View<void> u = by_token(call, tensors.u_made);
  if (!call.has_norm()) return visit(RowCopyPlan(call.x, u, call.target));
  const LayerNormWeights weights{call.parameters.gamma, call.parameters.beta, call.options.eps};
  return visit(LayerNormPlan(call.x, weights, u, call.target));
}

// q, k, v = u w + b.
template <class Visit>
bool project_heads(const LayerCall& call, const ForwardTensors& tensors, Visit&& visit) {
  const auto project = [&](View<const void> w, View<const void> b, View<void> to) {
    Product product;
    product.terms[0] = {tensors.u, w};
    product.bias = b;
    product.c = to;
    return visit(ProductPlan(product, call.target));
  };
  const LayerParameters& p = call.parameters;
  if (p.wqkv.is_present()) return project(p.wqkv, p.bqkv, tensors.qkv);
  const HeadMatrices heads(call, tensors.qkv);
  return project(p.wq, p.bq, heads.q) && project(p.wk, p.bk, heads.k) && project(p.wv, p.bv, heads.v);
}

// y = o wo + bo, if there is wo. `y` [B,T,Cout].
template <class Visit>
bool project_output(const LayerCall& call, const ForwardTensors& tensors, const View<void>& y, Visit&& visit) {
  if (!call.has_output()) return true;
  Product product;
  product.terms[0] = {tensors.o, call.parameters.wo};
  product.bias = call.parameters.bo;
  product.c = tensors.y.is_present() ? tensors.y : as_matrix(y);
  if (!visit(ProductPlan(product, call.target))) return false;
  return !tensors.y.is_present() || visit(RowCopyPlan(by_token(call, tensors.y), y, call.target));
}

// What attention is given.
AttentionInputs attention_inputs(const LayerCall& call, const ForwardTensors& tensors);

// Where attention writes o [B,Hq,T,Dv]: the scratch, or y.
View<void> attention_output(const LayerCall& call, const ForwardTensors& tensors, const View<void>& y);

}  // namespace qkv

#endif  // QKV_SRC_LAYER_LAYER_STEPS_H_
