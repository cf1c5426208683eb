// attention_backward: check, cut, run.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

#include "qkv/attention.h"
#include "src/core/check_attention_backward.h"
#include "src/core/for_each_element.h"
#include "src/core/parallel.h"
#include "src/core/renamed_status.h"
#include "src/core/status_macros.h"
#include "src/core/workspace_lease.h"
#include "src/ops/attention/backward.h"
#include "src/ops/attention/plan.h"

namespace qkv {
namespace {

// Less work than this (about 50 µs on one core) costs more to share than to do.
constexpr double kFlopsWorthSharing = 5e6;

constexpr std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// dq's own memory holds the sums from panel to panel, unless they would be rounded there.
bool has_rests(const BackwardCall& call) {
  return call.outputs.dq.is_present() && size_of(call.outputs.dq.dtype) == sizeof(std::uint16_t) &&
         call.cuts.panels > 1;
}

std::size_t rest_bytes_per_head(const AttentionShape& shape) {
  return static_cast<std::size_t>(shape.group() * shape.query_length * shape.width) * sizeof(std::uint16_t);
}

// So many KV heads are under way at once that their rests take no more than 12 MB a thread; at least one.
std::int64_t heads_at_once(const BackwardCall& call, int threads) {
  constexpr std::int64_t kRestBytes = 12'000'000;
  const std::int64_t heads = std::max<std::int64_t>(call.forward.shape.batch * call.forward.shape.kv_heads, 1);
  if (!has_rests(call)) return heads;
  const auto bytes = static_cast<std::int64_t>(rest_bytes_per_head(call.forward.shape));
  return std::clamp<std::int64_t>(kRestBytes * threads / std::max<std::int64_t>(bytes, 1), 1, heads);
}

// What all tasks share, carved out of the scratch; without memory it counts only.
std::size_t share_out(BackwardCall& call, char* memory) {
  const AttentionShape& shape = call.forward.shape;
  const bool is_double = call.inputs.q.dtype == DType::kF64;
  const std::size_t size = is_double ? sizeof(double) : sizeof(float);
  const auto heads = static_cast<std::size_t>(shape.batch * shape.query_heads);
  const std::size_t rows = heads * static_cast<std::size_t>(shape.query_length);
  std::size_t used = 0;
  const auto take = [&](std::size_t bytes) -> void* {
    void* at = memory == nullptr ? nullptr : memory + used;
    used += round_up(bytes);
    return at;
  };
  if (call.cuts.row_tasks > 0) {
    call.rows.shift = take(rows * size);
    call.rows.share = take(rows * size);
    call.rows_done = static_cast<std::int32_t*>(take(heads * sizeof(std::int32_t)));
  }
  if (call.outputs.dsinks.is_present())
    call.sink_parts = static_cast<double*>(take(heads * static_cast<std::size_t>(call.cuts.blocks) * sizeof(double)));
  if (has_rests(call)) {
    const auto places = static_cast<std::size_t>(call.rests.heads_at_once);
    call.rests.of_dq = static_cast<std::uint16_t*>(take(places * rest_bytes_per_head(shape)));
    call.rests.panels_done =
        static_cast<std::int32_t*>(take(static_cast<std::size_t>(shape.batch * shape.kv_heads) * sizeof(std::int32_t)));
  }
  call.turns =
      static_cast<std::int32_t*>(take(heads * static_cast<std::size_t>(call.cuts.blocks) * sizeof(std::int32_t)));
  return used;
}

void clear_counters(const BackwardCall& call) {
  const std::int64_t heads = call.forward.shape.batch * call.forward.shape.query_heads;
  if (call.rows_done != nullptr) std::fill_n(call.rows_done, heads, 0);
  if (call.rests.panels_done != nullptr)
    std::fill_n(call.rests.panels_done, call.forward.shape.batch * call.forward.shape.kv_heads, 0);
  std::fill_n(call.turns, heads * call.cuts.blocks, 0);
}

// Whether some row has to be measured anew.
bool has_large_lse(const AttentionShape& shape, const Positions& positions, const View<const void>& lse) {
  for (std::int64_t batch = 0; batch < shape.batch; ++batch)
    for (std::int64_t s = 0; s < positions.sequence_count(); ++s) {
      const Sequence sequence = positions.sequence(batch, s);
      for (std::int64_t head = 0; head < shape.query_heads; ++head)
        for (std::int64_t query = sequence.query_begin; query < sequence.query_end; ++query) {
          const std::int64_t at = batch * lse.strides[0] + head * lse.strides[1] + query * lse.strides[2];
          const double value = lse.dtype == DType::kF32 ? static_cast<double>(static_cast<const float*>(lse.data)[at])
                                                        : static_cast<const double*>(lse.data)[at];
          if (!(std::fabs(value) > kSmallLse)) continue;  // without a look at positions
          const KeyRange keys = positions.keys(sequence, query);
          if (is_large(value, keys.end - keys.begin)) return true;
        }
    }
  return false;
}

// dsinks[h] = −Σ over the batch and the rows, in order.
void store_sink_gradients(const BackwardCall& call) {
  const View<void>& dsinks = call.outputs.dsinks;
  const AttentionShape& shape = call.forward.shape;
  const std::int64_t parts = call.cuts.blocks;
  for (std::int64_t head = 0; head < shape.query_heads; ++head) {
    double sum = 0;
    for (std::int64_t batch = 0; batch < shape.batch; ++batch)
      for (std::int64_t part = 0; part < parts; ++part)
        sum += call.sink_parts[(batch * shape.query_heads + head) * parts + part];
    const std::int64_t at = head * dsinks.strides[0];
    if (dsinks.dtype == DType::kF64)
      static_cast<double*>(dsinks.data)[at] = -sum;
    else
      static_cast<float*>(dsinks.data)[at] = static_cast<float>(-sum);
  }
}

// Without queries every gradient is 0.
void clear_gradients(const AttentionBackwardOutputs& outputs) {
  for (const View<void>& view : {outputs.dq, outputs.dk, outputs.dv, outputs.dbias, outputs.dsinks}) {
    if (!view.is_present()) continue;
    const std::size_t size = size_of(view.dtype);
    for_each_element(view.shape, view.strides, [&](std::int64_t at) {
      std::memset(static_cast<char*>(view.data) + at * static_cast<std::int64_t>(size), 0, size);
    });
  }
}

Result<AttentionShape> checked(const AttentionInputs& forward, const AttentionBackwardInputs& inputs,
                               const AttentionBackwardOutputs& outputs, const AttentionOptions& options) {
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(forward, options, TypeRule::kSameType));
  QKV_RETURN_IF_ERROR(check_attention_backward(inputs, outputs, options));
  return shape;
}

}  // namespace

Result<Report> attention_backward(const AttentionBackwardInputs& inputs, const AttentionBackwardOutputs& outputs,
                                  const AttentionOptions& options, const Execution& execution) {
  const AttentionInputs forward_inputs{inputs.q, inputs.k, inputs.v};
  const Result<AttentionShape> found = checked(forward_inputs, inputs, outputs, options);
  if (!found.is_ok()) return renamed(found.status(), "attention", "attention_backward");
  const AttentionShape& shape = *found;
  QKV_ASSIGN_OR_RETURN(const Target target, resolve_target(execution.target));
  QKV_ASSIGN_OR_RETURN(const int threads, resolve_threads("attention_backward", execution.threads));
  Report report{.target = target, .threads = 1};
  if (shape.batch == 0 || shape.query_heads == 0 || shape.query_length == 0) {
    clear_gradients(outputs);
    return report;
  }

  const Positions positions(shape, options);
  BackwardCall call{.forward = {shape, forward_inputs, {}, options, positions, resolve_scale(shape, options), {}, {}},
                    .inputs = inputs,
                    .outputs = outputs,
                    .dbias = {},
                    .cuts = {},
                    .rows = {},
                    .rests = {}};
  if (options.keep.is_present()) call.forward.keep = broadcast_to_scores(shape, options.keep);
  if (options.bias.is_present()) call.forward.bias = broadcast_to_scores(shape, options.bias);
  if (outputs.dbias.is_present()) {
    const View<const void> spread = broadcast_to_scores(shape, outputs.dbias);
    call.dbias = View<void>(outputs.dbias.data, outputs.dbias.dtype, spread.shape, spread.strides);
  }
  const BackwardKernel kernel = backward_kernel(target, inputs.q.dtype);
  call.cuts = backward_cuts(shape, positions, inputs.q.dtype, kernel.queries,
                            has_large_lse(shape, positions, inputs.lse), outputs, call.dbias);

  report.flops = static_cast<double>(6 * shape.width + 4 * shape.value_width) * visible_pairs(shape, positions);
  report.tasks = call.cuts.tasks();
  if (report.flops > kFlopsWorthSharing)
    report.threads = static_cast<int>(std::clamp<std::int64_t>(report.tasks, 1, threads));
  call.rests.heads_at_once = heads_at_once(call, report.threads);
  const std::size_t each = round_up(kernel.scratch_bytes(call));
  const std::size_t shared = share_out(call, nullptr);
  report.scratch_bytes = shared + each * static_cast<std::size_t>(report.threads);
  const WorkspaceLease scratch(execution, "attention_backward", report.scratch_bytes);
  QKV_RETURN_IF_ERROR(scratch.status());
  share_out(call, scratch.memory());
  clear_counters(call);
  StopFlag stop(execution, report.tasks);
  call.stop = &stop;
  const Execution watched = stop.watched();
  const bool finished = parallel_for(report.tasks, report.threads, watched, [&](std::int64_t task, int worker) {
    kernel.run(call, task, scratch.memory() + shared + each * static_cast<std::size_t>(worker));
  });
  if (!finished || stop.stopped())
    return cancelled("attention_backward: stopped by the caller; the gradients are partly written");
  if (call.sink_parts != nullptr) store_sink_gradients(call);
  return report;
}

}  // namespace qkv
