// layer_backward: the forward pass again up to attention, then every step in reverse order.
#include <algorithm>
#include <cstddef>

#include "qkv/layer.h"
#include "src/core/status_macros.h"
#include "src/layer/layer_call.h"
#include "src/layer/layer_scratch.h"
#include "src/layer/layer_steps.h"

namespace qkv {
namespace {

constexpr char kStopped[] = "layer: stopped by the caller; the gradients are partly written";

// What has to be computed for the gradients that are asked for.
struct Needs {
  bool du = false;                          // the gradient of u
  bool dq = false, dk = false, dv = false;  // of the heads
  bool forward = false;                     // q, k, v, o and lse, which are not kept
  bool u = false;
  bool any_head() const { return dq || dk || dv; }

  Needs(const LayerGradientViews& g, const LayerKept& kept) {
    du = g.dx.is_present() || g.dgamma.is_present() || g.dbeta.is_present();
    const bool all = du || g.dwqkv.is_present() || g.dbqkv.is_present();
    dq = all || g.dwq.is_present() || g.dbq.is_present();
    dk = all || g.dwk.is_present() || g.dbk.is_present();
    dv = all || g.dwv.is_present() || g.dbv.is_present();
    forward = !kept.lse.is_present() && (any_head() || g.dwo.is_present());
    u = forward || g.dwqkv.is_present() || g.dwq.is_present() || g.dwk.is_present() || g.dwv.is_present();
  }
};

// The forward's tensors, and what comes on top. Gradients are held in the compute type.
struct BackwardTensors {
  ForwardTensors forward;
  View<void> o;           // [B,T,merged_width]: scratch, or kept
  View<void> lse;         // [B,Hq,T]: the same
  View<const void> dy;    // [rows,Cout]
  View<void> dy_made;     // the same, where dy is no matrix
  View<void> dmerged;     // [rows,merged_width]; absent: dy itself
  View<void> dq, dk, dv;  // [rows,width] each: attention takes no gradients that interleave in memory
  View<void> du;          // [rows,C]; takes the place of u, which is not needed any more
  BackwardTensors(const LayerCall& call, const View<const void>& d_y, Arena& arena) : forward(call, arena) {
    const std::int64_t rows = call.rows();
    const LayerShape& shape = call.shape;
    const LayerKept& kept = call.kept;
    lse = kept.lse.is_present() ? kept.lse : arena.take(call.compute, {shape.batch, shape.query_heads, shape.length});
    if (call.has_output())
      o = by_token(call, forward.o);
    else
      o = kept.o.is_present() ? kept.o : by_token(call, arena.take(call.type, {rows, call.merged_width()}));
    if (!is_matrix(d_y)) dy_made = arena.take(call.type, {rows, call.shape.out_channels});
    dy = dy_made.is_present() ? View<const void>(dy_made) : as_matrix(d_y);
    if (call.has_output()) dmerged = arena.take(call.compute, {rows, call.merged_width()});
    dq = arena.take(call.compute, {rows, call.q_width()});
    dk = arena.take(call.compute, {rows, call.k_width()});
    dv = arena.take(call.compute, {rows, call.v_width()});
    du = forward.u_made.is_present() ? forward.u_made : arena.take(call.compute, {rows, call.shape.channels});
  }
};

// dmerged = dy woᵀ, what comes before attention's own gradient.
template <class Visit>
bool backward_output(const LayerCall& call, const BackwardTensors& tensors, const Needs& needs,
                     const View<const void>& d_y, Visit&& visit) {
  if (tensors.dy_made.is_present() && !visit(RowCopyPlan(d_y, by_token(call, tensors.dy_made), call.target)))
    return false;
  if (!call.has_output() || !needs.any_head()) return true;
  Product product;
  product.terms[0] = {tensors.dy, swap_axes(call.parameters.wo, 0, 1)};
  product.c = tensors.dmerged;
  return visit(ProductPlan(product, call.target));
}

// dw = inputᵀ d_output and db = Σ d_output, whichever is asked for.
template <class Visit>
bool backward_parameters(const LayerCall& call, const View<const void>& input, const View<const void>& d_output,
                         const View<void>& dw, const View<void>& db, Visit&& visit) {
  if (dw.is_present()) {
    Product product;
    product.terms[0] = {swap_axes(input, 0, 1), d_output};
    product.c = dw;
    if (!visit(ProductPlan(product, call.target))) return false;
  }
  return !db.is_present() || visit(ColumnSumsPlan(d_output, db, call.target));
}

// du = dq wqᵀ + dk wkᵀ + dv wvᵀ, into dx itself where nothing stands between them.
template <class Visit>
bool backward_heads(const LayerCall& call, const BackwardTensors& tensors, const View<void>& to, Visit&& visit) {
  Product product;
  product.c = to;
  product.terms = {ProductTerm{tensors.dq, swap_axes(call.parts.wq, 0, 1)},
                   {tensors.dk, swap_axes(call.parts.wk, 0, 1)},
                   {tensors.dv, swap_axes(call.parts.wv, 0, 1)}};
  product.term_count = 3;
  return visit(ProductPlan(product, call.target));
}

// From the gradient of u to that of x and of the norm's parameters.
template <class Visit>
bool backward_inputs(const LayerCall& call, const BackwardTensors& tensors, const LayerGradientViews& gradients,
                     Visit&& visit) {
  const View<void>& dx = gradients.dx;
  const bool straight = !call.has_norm() && is_matrix(dx);
  if (!backward_heads(call, tensors, straight ? as_matrix(dx) : tensors.du, visit)) return false;
  if (straight) return true;
  const View<void> du = by_token(call, tensors.du);
  if (!call.has_norm()) return visit(RowCopyPlan(du, dx, call.target));
  const LayerNormWeights weights{call.parameters.gamma, call.parameters.beta, call.options.eps};
  return visit(LayerNormPlan(call.x, du, weights, {dx, gradients.dgamma, gradients.dbeta}, call.target));
}

// The gradients of a fused matrix as those of its parts.
LayerGradientViews separated(const LayerCall& call, LayerGradientViews g) {
  const std::int64_t q = call.q_width(), k = call.k_width(), v = call.v_width();
  if (g.dwqkv.is_present()) {
    g.dwq = columns_of(g.dwqkv, 0, q);
    g.dwk = columns_of(g.dwqkv, q, k);
    g.dwv = columns_of(g.dwqkv, q + k, v);
  }
  if (g.dbqkv.is_present()) {
    g.dbq = columns_of(g.dbqkv, 0, q);
    g.dbk = columns_of(g.dbqkv, q, k);
    g.dbv = columns_of(g.dbqkv, q + k, v);
  }
  return g;
}

// Everything behind attention's gradient: only now is memory of the caller's written.
template <class Visit>
bool backward_rest(const LayerCall& call, const BackwardTensors& tensors, const Needs& needs,
                   const LayerGradientViews& g, Visit&& visit) {
  if (!backward_parameters(call, tensors.forward.o, tensors.dy, g.dwo, g.dbo, visit)) return false;
  const View<const void>& u = tensors.forward.u;
  const LayerGradientViews parts = separated(call, g);
  if (!backward_parameters(call, u, tensors.dq, parts.dwq, parts.dbq, visit) ||
      !backward_parameters(call, u, tensors.dk, parts.dwk, parts.dbk, visit) ||
      !backward_parameters(call, u, tensors.dv, parts.dwv, parts.dbv, visit))
    return false;
  return !needs.du || backward_inputs(call, tensors, g, visit);
}

AttentionBackwardInputs attention_gradient_inputs(const LayerCall& call, const BackwardTensors& tensors,
                                                  const View<const void>& d_y) {
  const AttentionInputs heads = attention_inputs(call, tensors.forward);
  const std::int64_t count = call.shape.query_heads;
  return {heads.q,
          heads.k,
          heads.v,
          split_heads(tensors.o, count),
          tensors.lse,
          call.has_output() ? View<const void>(split_heads(by_token(call, tensors.dmerged), count))
                            : split_heads(d_y, count),
          {}};
}

AttentionBackwardOutputs attention_gradient_outputs(const LayerCall& call, const BackwardTensors& tensors,
                                                    const Needs& needs) {
  AttentionBackwardOutputs outputs;
  if (needs.dq) outputs.dq = split_heads(by_token(call, tensors.dq), call.shape.query_heads);
  if (needs.dk) outputs.dk = split_heads(by_token(call, tensors.dk), call.shape.kv_heads);
  if (needs.dv) outputs.dv = split_heads(by_token(call, tensors.dv), call.shape.kv_heads);
  return outputs;
}

}  // namespace

Result<Report> layer_backward(View<const void> x, const LayerParameters& parameters, View<const void> d_y,
                              const LayerGradientViews& gradients, const LayerOptions& options,
                              const Execution& execution, const LayerKept& kept) {
  QKV_ASSIGN_OR_RETURN(const LayerCall call, make_layer_call(x, parameters, options, kept, execution));
  QKV_RETURN_IF_ERROR(check_layer_gradients(call.shape, x, parameters, d_y, gradients, kept));
  const Needs needs(gradients, kept);
  Arena count(nullptr);
  const BackwardTensors sizes(call, d_y, count);
  MeasurePlans measure{call.threads};
  if (needs.u) normalize(call, sizes.forward, measure);
  if (needs.forward) project_heads(call, sizes.forward, measure);
  backward_output(call, sizes, needs, d_y, measure);
  backward_rest(call, sizes, needs, gradients, measure);

  LayerScratch scratch(execution, count.used() + (measure.bytes + 63) / 64 * 64);
  QKV_RETURN_IF_ERROR(scratch.status());
  Arena arena(scratch.memory());
  const BackwardTensors tensors(call, d_y, arena);
  Report report{.target = call.target, .threads = 1};
  StagedProgress progress(execution, measure.stages + (needs.forward ? 1 : 0) + (needs.any_head() ? 1 : 0));
  RunPlans run{call.threads, scratch.memory() + arena.used(), progress, report};
  const auto attend = [&](auto&& attention) -> Status {
    const Result<Report> attended = scratch.lend(progress.next_stage(), attention);
    if (attended.code() == StatusCode::kCancelled) return cancelled(kStopped);
    QKV_RETURN_IF_ERROR(attended.status());
    add_to(report, *attended);
    return {};
  };
  if (needs.u && !normalize(call, tensors.forward, run)) return cancelled(kStopped);
  if (needs.forward) {
    if (!project_heads(call, tensors.forward, run)) return cancelled(kStopped);
    QKV_RETURN_IF_ERROR(attend([&](const Execution& lent) {
      const View<void> o = split_heads(tensors.o, call.shape.query_heads);
      return attention_forward(attention_inputs(call, tensors.forward), {o, tensors.lse}, options.attention, lent);
    }));
  }
  if (!backward_output(call, tensors, needs, d_y, run)) return cancelled(kStopped);
  if (needs.any_head())
    QKV_RETURN_IF_ERROR(attend([&](const Execution& lent) {
      return attention_backward(attention_gradient_inputs(call, tensors, d_y),
                                attention_gradient_outputs(call, tensors, needs), options.attention, lent);
    }));
  if (!backward_rest(call, tensors, needs, gradients, run)) return cancelled(kStopped);
  report.scratch_bytes = scratch.used();
  return report;
}

}  // namespace qkv
