// layer_forward: norm and projections, attention, output projection.
#include "qkv/layer.h"

#include "src/core/status_macros.h"
#include "src/layer/layer_call.h"
#include "src/layer/layer_run.h"
#include "src/layer/layer_scratch.h"
#include "src/layer/layer_steps.h"

namespace qkv {
namespace {

constexpr char kStopped[] = "layer: stopped by the caller; y is partly written";

}  // namespace

Result<Report> run_layer(const LayerCall& call, const View<void>& y, const Execution& execution, Attend attend) {
  Arena count(nullptr);
  ForwardTensors sizes(call, count);
  const bool y_is_matrix = is_matrix(y);
  const auto take_y = [&](ForwardTensors& tensors, Arena& arena) {
    if (call.has_output() && !y_is_matrix) tensors.y = arena.take(call.type, {call.rows(), call.shape.out_channels});
  };
  take_y(sizes, count);
  MeasurePlans measure{call.threads};
  normalize(call, sizes, measure);
  project_heads(call, sizes, measure);
  project_output(call, sizes, y, measure);

  LayerScratch scratch(execution, count.used() + (measure.bytes + 63) / 64 * 64);
  QKV_RETURN_IF_ERROR(scratch.status());
  Arena arena(scratch.memory());
  ForwardTensors tensors(call, arena);
  take_y(tensors, arena);
  Report report{.target = call.target, .threads = 1};
  StagedProgress progress(execution, measure.stages + 1);
  RunPlans run{call.threads, scratch.memory() + arena.used(), progress, report};
  if (!normalize(call, tensors, run) || !project_heads(call, tensors, run)) return cancelled(kStopped);
  const Result<Report> attended = scratch.lend(progress.next_stage(), [&](const Execution& lent) {
    return attend(attention_inputs(call, tensors), attention_output(call, tensors, y), lent);
  });
  if (attended.code() == StatusCode::kCancelled) return cancelled(kStopped);
  QKV_RETURN_IF_ERROR(attended.status());
  if (!project_output(call, tensors, y, run)) return cancelled(kStopped);
  add_to(report, *attended);
  report.scratch_bytes = scratch.used();
  return report;
}

Result<Report> layer_forward(View<const void> x, const LayerParameters& parameters, View<void> y,
                             const LayerOptions& options, const Execution& execution, const LayerKept& kept) {
  QKV_ASSIGN_OR_RETURN(const LayerCall call, make_layer_call(x, parameters, options, kept, execution));
  QKV_RETURN_IF_ERROR(check_layer_output(call.shape, x, parameters, options, y, kept));
  return run_layer(call, y, execution, [&](const AttentionInputs& heads, View<void> o, const Execution& lent) {
    return attention_forward(heads, {o, kept.lse}, options.attention, lent);
  });
}

}  // namespace qkv
