// attention_decode: check, plan, append, run.
#include "src/ops/attention/decode.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <string>

#include "src/core/check_decode.h"
#include "src/core/parallel.h"
#include "src/core/renamed_status.h"
#include "src/core/status_macros.h"
#include "src/core/workspace_lease.h"
#include "src/ops/attention/decode_cache.h"
#include "src/ops/attention/decode_plan.h"

namespace qkv {
namespace {

// Less work than this (about 50 µs on one core) costs more to share than to do.
constexpr double kFlopsWorthSharing = 5e6;
constexpr double kBytesWorthSharing = 1e6;

constexpr std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// How many chunks of a group are still to come; whoever finishes the last one merges them all.
using Remaining = std::atomic<std::int64_t>;

// Where each piece of the call's scratch begins.
struct Layout {
  std::size_t table = 0, counters = 0, parts = 0, workers = 0, end = 0;
  std::size_t part = 0;    // bytes of one
  std::size_t worker = 0;  // bytes of one: its scratch and a part of its own

  Layout(const DecodeCall& call, const DecodePlan& plan, const DecodeKernel& kernel, int threads) {
    part = round_up(kernel.part_bytes(call.shape));
    worker = round_up(kernel.scratch_bytes(call)) + part;
    counters = round_up(plan.table_bytes());
    parts = counters + round_up(plan.parts() > 0 ? static_cast<std::size_t>(plan.groups()) * sizeof(Remaining) : 0);
    workers = parts + static_cast<std::size_t>(plan.parts()) * part;
    end = workers + worker * static_cast<std::size_t>(threads);
  }
};

void run_task(const DecodeCall& call, const DecodePlan& plan, const DecodeKernel& kernel, const Layout& layout,
              char* memory, std::int64_t index, int worker) {
  const DecodeTask task = plan.task(index);
  char* scratch = memory + layout.workers + layout.worker * static_cast<std::size_t>(worker);
  const std::int64_t chunks = plan.chunks_of_group(task.group);
  if (chunks == 1) {
    const DecodeParts own{scratch + layout.worker - layout.part, 1};
    kernel.run(call, task, scratch, own.first);
    return kernel.finish(call, task, own, scratch);
  }
  const auto first = static_cast<std::size_t>(plan.first_part_of_group(task.group));
  const DecodeParts parts{memory + layout.parts + first * layout.part, chunks};
  kernel.run(call, task, scratch, parts.first + static_cast<std::size_t>(task.chunk) * layout.part);
  auto* remaining = reinterpret_cast<Remaining*>(memory + layout.counters) + task.group;
  if (remaining->fetch_sub(1, std::memory_order_acq_rel) == 1) kernel.finish(call, task, parts, scratch);
}

// A prompt: so many new tokens that the forward pass, which has queries in lanes, is the faster way through a
// contiguous cache. The queries of a group do not count: a lane's neighbours are queries of the same head.
bool is_prompt(const DecodeShape& shape, const KeyValueCache& cache) {
  constexpr std::int64_t kFewest = 32;
  return !cache.block_table.is_present() && shape.attention.query_length >= kFewest;
}

Result<Report> run_prompt(const DecodeInputs& inputs, const KeyValueCache& cache, const AttentionOutputs& outputs,
                          const AttentionOptions& placed, const Execution& execution, std::int64_t appended) {
  if (appended > 0) append_to_cache(inputs, cache);
  for (std::int64_t& length : cache.lengths) length += appended;
  AttentionOptions options = placed;
  options.key_lengths = cache.lengths;
  Result<Report> result = attention_forward({inputs.q, cache.k, cache.v}, outputs, options, execution);
  if (result.is_ok()) return result;
  for (std::int64_t& length : cache.lengths) length -= appended;
  return renamed(result.status(), "attention", "attention_decode");
}

}  // namespace

Result<Report> attention_decode(const DecodeInputs& inputs, const KeyValueCache& cache, const AttentionOutputs& outputs,
                                const AttentionOptions& options, const Execution& execution) {
  QKV_ASSIGN_OR_RETURN(const DecodeShape checked, check_decode(inputs, cache, outputs, options));
  QKV_ASSIGN_OR_RETURN(const Target target, resolve_target(execution.target));
  QKV_ASSIGN_OR_RETURN(const int threads, resolve_threads("attention_decode", execution.threads));
  const AttentionShape& shape = checked.attention;
  AttentionOptions placed = options;
  placed.corner = Corner::kBottomRight;
  placed.causality = Causality::kCausal;
  if (is_prompt(checked, cache)) return run_prompt(inputs, cache, outputs, placed, execution, checked.appended);
  const Positions positions(shape, placed);
  DecodeCall call{.shape = shape,
                  .q = inputs.q,
                  .k = cache.k,
                  .v = cache.v,
                  .pages = PageTable(cache),
                  .outputs = outputs,
                  .options = options,
                  .positions = positions,
                  .scale = resolve_scale(shape, options),
                  .keep = {},
                  .bias = {}};
  if (options.keep.is_present()) call.keep = broadcast_to_scores(shape, options.keep);
  if (options.bias.is_present()) call.bias = broadcast_to_scores(shape, options.bias);

  const DecodeKernel kernel = decode_kernel(target, inputs.q.dtype);
  DecodePlan plan(shape, inputs.q.dtype, positions, cache.lengths, checked.appended);
  const auto widths = static_cast<double>(shape.width + shape.value_width);
  Report report{.target = target, .threads = 1, .tasks = plan.tasks(), .flops = 2 * widths * plan.visible_pairs()};
  if (report.flops > kFlopsWorthSharing ||
      plan.keys_read() * widths * static_cast<double>(size_of(inputs.q.dtype)) > kBytesWorthSharing)
    report.threads = static_cast<int>(std::clamp<std::int64_t>(plan.tasks(), 1, threads));

  const Layout layout(call, plan, kernel, report.threads);
  report.scratch_bytes = layout.end;
  const WorkspaceLease scratch(execution, "attention_decode", layout.end);
  QKV_RETURN_IF_ERROR(scratch.status());
  char* memory = scratch.memory();
  plan.use_table(memory + layout.table);
  for (std::int64_t group = 0; plan.parts() > 0 && group < plan.groups(); ++group)
    new (reinterpret_cast<Remaining*>(memory + layout.counters) + group) Remaining(plan.chunks_of_group(group));
  if (checked.appended > 0) append_to_cache(inputs, cache);
  const bool finished = parallel_for(plan.tasks(), report.threads, execution, [&](std::int64_t task, int worker) {
    run_task(call, plan, kernel, layout, memory, task, worker);
  });
  if (!finished) return cancelled("attention_decode: stopped by the caller; o and lse are partly written");
  for (std::int64_t& length : cache.lengths) length += checked.appended;
  return report;
}

}  // namespace qkv
