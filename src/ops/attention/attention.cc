// attention_forward: check, plan, run.
#include "qkv/attention.h"

#include <algorithm>
#include <string>

#include "src/core/glance.h"
#include "src/core/parallel.h"
#include "src/core/status_macros.h"
#include "src/core/workspace_lease.h"
#include "src/ops/attention/forward.h"
#include "src/ops/attention/plan.h"

namespace qkv {
namespace {

// Less work than this (about 50 µs on one core) costs more to share than to do.
constexpr double kFlopsWorthSharing = 5e6;

constexpr std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Result<Report> attention_forward(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                                 const AttentionOptions& options, const Execution& execution) {
  AttentionShape shape;
  if (!right_at_a_glance(inputs, outputs, options, shape)) {
    QKV_ASSIGN_OR_RETURN(shape, check_attention(inputs, options, TypeRule::kSameType));
    QKV_RETURN_IF_ERROR(check_outputs(shape, inputs, outputs, options));
  }
  QKV_ASSIGN_OR_RETURN(const Target target, resolve_target(execution.target));
  QKV_ASSIGN_OR_RETURN(const int available, resolve_threads("attention", execution.threads));

  const Positions positions(shape, options);
  ForwardCall call{shape, inputs, outputs, options, positions, resolve_scale(shape, options), {}, {}};
  if (options.keep.is_present()) call.keep = broadcast_to_scores(shape, options.keep);
  if (options.bias.is_present()) call.bias = broadcast_to_scores(shape, options.bias);

  call.by_pairs = computes_by_pairs(target, inputs);

  Report report{.target = target, .threads = 1};
  report.flops = 2.0 * static_cast<double>(shape.width + shape.value_width) * visible_pairs(shape, positions);
  const int threads = report.flops > kFlopsWorthSharing ? available : 1;
  const ForwardKernel kernel = forward_kernel(target, inputs.q.dtype);
  if (kernel.run == nullptr)
    return unsupported("attention: target " + std::string(to_string(target)) +
                       " has no f64; use f32, or the reference");
  ForwardPlan plan(shape, positions, kernel, threads);
  report.tasks = plan.tasks();
  report.threads = static_cast<int>(std::clamp<std::int64_t>(plan.tasks(), 1, threads));

  const std::size_t table = round_up(plan.table_bytes());
  const std::size_t each = round_up(kernel.scratch_bytes(call, plan.blocks_per_task()));
  report.scratch_bytes = table + each * static_cast<std::size_t>(report.threads);
  const WorkspaceLease scratch(execution, "attention", report.scratch_bytes);
  QKV_RETURN_IF_ERROR(scratch.status());
  plan.use_table(scratch.memory());
  const bool finished = parallel_for(plan.tasks(), report.threads, execution, [&](std::int64_t task, int worker) {
    ForwardTask blocks;
    plan.fill(task, blocks);
    kernel.run(call, blocks, scratch.memory() + table + each * static_cast<std::size_t>(worker));
  });
  if (!finished) return cancelled("attention: stopped by the caller; o and lse are partly written");
  return report;
}

}  // namespace qkv
