// attention_forward: check, plan, run.
#include "qkv/attention.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "src/core/parallel.h"
#include "src/core/status_macros.h"
#include "src/ops/attention/forward.h"
#include "src/ops/attention/plan.h"

namespace qkv {
namespace {

// Less work than this (about 50 µs on one core) costs more to share than to do.
constexpr double kFlopsWorthSharing = 5e6;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

constexpr std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

Result<Report> attention_forward(const AttentionInputs& inputs, const AttentionOutputs& outputs,
                                 const AttentionOptions& options, const Execution& execution) {
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(inputs, options, TypeRule::kSameType));
  QKV_RETURN_IF_ERROR(check_outputs(shape, inputs, outputs, options));
  QKV_ASSIGN_OR_RETURN(const Target target, resolve_target(execution.target));
  if (execution.threads < 0)
    return invalid_argument("attention: threads must be 0 (all) or positive, found " +
                            std::to_string(execution.threads));

  const Positions positions(shape, options);
  ForwardCall call{shape, inputs, outputs, options, positions, resolve_scale(shape, options), {}, {}};
  if (options.keep.is_present()) call.keep = broadcast_to_scores(shape, options.keep);
  if (options.bias.is_present()) call.bias = broadcast_to_scores(shape, options.bias);

  const ForwardKernel kernel = forward_kernel(target, inputs.q.dtype);
  const ForwardPlan plan(shape, positions, kernel.queries);
  Report report{target, 1, plan.tasks(), plan.flops()};
  if (plan.flops() > kFlopsWorthSharing)
    report.threads = static_cast<int>(std::clamp<std::int64_t>(plan.tasks(), 1, resolve_threads(execution.threads)));
  const std::size_t each = round_up(kernel.scratch_bytes(shape));
  const std::unique_ptr<void, Free> scratch(std::aligned_alloc(64, each * static_cast<std::size_t>(report.threads)));
  if (!scratch) return out_of_memory("attention: no memory for " + std::to_string(each) + " bytes of scratch a thread");

  const bool finished =
      parallel_for(plan.tasks(), report.threads, execution.progress, [&](std::int64_t task, int worker) {
        kernel.run(call, plan.block(task), static_cast<char*>(scratch.get()) + each * static_cast<std::size_t>(worker));
      });
  if (!finished) return cancelled("attention: stopped by the caller; o and lse are partly written");
  return report;
}

}  // namespace qkv
