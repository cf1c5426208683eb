// survey: check, then head by head the weights, block after block.
#include "qkv/survey.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/core/parallel.h"
#include "src/core/staged_progress.h"
#include "src/core/status_macros.h"
#include "src/core/stop_flag.h"
#include "src/core/workspace_lease.h"
#include "src/survey/blocks.h"
#include "src/survey/survey_call.h"

namespace qkv {
namespace {

// A head is cut into so many chunks whatever the number of threads, so that its sums have the same bits.
constexpr std::int64_t kChunks = 8;

bool depends_on_positions(const AttentionOptions& options) {
  return options.causality == Causality::kCausal || options.window != Window{} || !options.slopes.empty();
}

ChunkTotals empty_chunk(std::int64_t keys) {
  ChunkTotals chunk;
  chunk.columns.mass.resize(static_cast<std::size_t>(keys));
  chunk.columns.rows.resize(static_cast<std::size_t>(keys));
  return chunk;
}

void merge(const ChunkTotals& from, ChunkTotals& into) {
  into.rows.merge(from.rows);
  for (std::size_t j = 0; j < into.columns.mass.size(); ++j) {
    into.columns.mass[j] += from.columns.mass[j];
    into.columns.rows[j] += from.columns.rows[j];
  }
}

// One head of one batch entry. False if the caller stopped it.
bool survey_head(const SurveyCall& call, const SurveyKernel& kernel, std::int64_t batch, std::int64_t head,
                 char* scratch, std::size_t each, int threads, const Execution& execution, ChunkTotals& head_totals) {
  const AttentionShape& shape = call.forward.shape;
  const std::int64_t blocks = (shape.query_length + kernel.queries - 1) / kernel.queries;
  const std::int64_t chunks = std::min(kChunks, blocks);
  std::vector<ChunkTotals> totals(static_cast<std::size_t>(chunks));
  StopFlag stop(execution, chunks);  // a chunk of a long head takes a tenth of a second and more
  const bool finished = parallel_for(chunks, threads, stop.watched(), [&](std::int64_t task, int worker) {
    const std::int64_t chunk = chunks - 1 - task;  // under a causal mask the last rows see most: they come first
    ChunkTotals& mine = totals[static_cast<std::size_t>(chunk)] = empty_chunk(shape.key_length);
    const std::int64_t begin = blocks * chunk / chunks * kernel.queries;
    const std::int64_t end = std::min(blocks * (chunk + 1) / chunks * kernel.queries, shape.query_length);
    for_each_block(call.forward.positions, batch, head, begin, end, kernel.queries, [&](const QueryBlock& block) {
      if (!stop.requested()) kernel.run(call, block, scratch + each * static_cast<std::size_t>(worker), mine);
    });
  });
  if (!finished || stop.stopped()) return false;
  for (const ChunkTotals& chunk : totals) merge(chunk, head_totals);
  return true;
}

}  // namespace

Padding::Padding(const AttentionShape& shape, const AttentionOptions& options, bool has_positions)
    : options_(&options), keys_(shape.key_length), has_positions_(has_positions) {
  for (std::int64_t batch = 0; batch < shape.batch; ++batch) {
    std::int64_t first = 0;
    while (first < keys_ && is_hidden(batch, first)) ++first;
    first_keys_.push_back(first < keys_ ? first : 0);
  }
}

bool Padding::is_hidden(std::int64_t batch, std::int64_t key) const {
  const View<const void>& mask = options_->key_mask;
  if (!options_->key_lengths.empty() && key >= options_->key_lengths[static_cast<std::size_t>(batch)]) return true;
  return mask.is_present() && element_as_double(mask, batch * mask.strides[0] + key * mask.strides[1]) == 0;
}

Status check_tokens(const AttentionShape& shape, const View<const void>& tokens) {
  if (!tokens.is_present()) return {};
  const Dims expected{shape.batch, shape.key_length};
  if (tokens.dtype != DType::kI64 && tokens.dtype != DType::kI32)
    return shape_mismatch("survey: tokens are " + std::string(to_string(tokens.dtype)) + "; expected i64 or i32");
  if (!(tokens.shape == expected))
    return shape_mismatch("survey: tokens [B,Tk] is " + to_string(tokens.shape) + "; expected " + to_string(expected));
  return {};
}

std::optional<std::int64_t> query_start_of(const SurveyInputs& inputs, const AttentionOptions& options) {
  if (depends_on_positions(options) || !options.cu_seqlens_q.empty()) return std::nullopt;
  return inputs.query_start;
}

bool knows_positions(const AttentionShape& shape, const SurveyInputs& inputs, const AttentionOptions& options,
                     const Positions& positions) {
  if (depends_on_positions(options) || query_start_of(inputs, options)) return true;
  if (inputs.is_cross) return false;
  if (options.cu_seqlens_q.empty()) return shape.query_length == shape.key_length;
  for (std::int64_t index = 0; index < positions.sequence_count(); ++index) {
    const Sequence sequence = positions.sequence(0, index);
    if (sequence.query_end - sequence.query_begin != sequence.key_end - sequence.key_begin) return false;
  }
  return true;
}

std::vector<HeadOfBatches> heads_of(const AttentionShape& shape, BatchEntries batches) {
  const std::int64_t times = batches == BatchEntries::kApart ? shape.batch : 1;
  const std::int64_t entries = batches == BatchEntries::kApart ? 1 : shape.batch;
  std::vector<HeadOfBatches> out;
  for (std::int64_t time = 0; time < times; ++time)
    for (std::int64_t head = 0; head < shape.query_heads; ++head) out.push_back({head, time, time + entries});
  return out;
}

View<const void> narrow_values(const View<const void>& k) {
  View<const void> v = k;
  v.shape[3] = 1;
  return v;
}

Result<std::vector<HeadStatistics>> survey(const SurveyInputs& inputs, const AttentionOptions& options,
                                           const Execution& execution) {
  if (inputs.k.shape.rank() != 4)
    return shape_mismatch("survey: k [B,Hkv,Tk,D] is " + to_string(inputs.k.shape) + "; expected four axes");
  const AttentionInputs tensors{inputs.q, inputs.k, narrow_values(inputs.k)};
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(tensors, options, TypeRule::kSameType));
  QKV_RETURN_IF_ERROR(check_tokens(shape, inputs.tokens));
  QKV_ASSIGN_OR_RETURN(const Target target, resolve_target(execution.target));
  QKV_ASSIGN_OR_RETURN(const int threads, resolve_threads("survey", execution.threads));

  const Positions positions(shape, options);
  ForwardCall forward{shape, tensors, {}, options, positions, resolve_scale(shape, options), {}, {}};
  if (options.keep.is_present()) forward.keep = broadcast_to_scores(shape, options.keep);
  if (options.bias.is_present()) forward.bias = broadcast_to_scores(shape, options.bias);
  SurveyCall call{forward, query_start_of(inputs, options), knows_positions(shape, inputs, options, positions), {}, {}};
  call.padding = Padding(shape, options, call.has_positions);
  if (inputs.tokens.is_present())
    for (std::int64_t b = 0; b < shape.batch; ++b) call.tokens.emplace_back(inputs.tokens, b);

  const SurveyKernel kernel = survey_kernel(target, inputs.q.dtype);
  if (kernel.run == nullptr) return unsupported("survey: target " + std::string(to_string(target)) + " has no f64");
  const std::size_t each_bytes = kernel.scratch_bytes(call);
  const WorkspaceLease scratch(execution, "survey", each_bytes * static_cast<std::size_t>(threads));
  QKV_RETURN_IF_ERROR(scratch.status());

  StagedProgress stages(execution, static_cast<int>(shape.query_heads * shape.batch));
  const bool apart = inputs.batches == BatchEntries::kApart;
  std::vector<HeadStatistics> out;
  for (const HeadOfBatches& each : heads_of(shape, inputs.batches)) {
    HeadTotals rows;
    HeadStatistics sink;
    for (std::int64_t batch = each.begin; batch < each.end; ++batch) {
      ChunkTotals totals = empty_chunk(shape.key_length);
      if (!survey_head(call, kernel, batch, each.head, scratch.memory(), each_bytes, threads, stages.next_stage(),
                       totals))
        return cancelled("survey: stopped by the caller");
      rows.merge(totals.rows);
      take_larger_sink(totals.columns, batch, sink);
    }
    out.push_back(rows.statistics(each.head, call.has_positions, !call.tokens.empty(), !options.sinks.empty()));
    if (apart) out.back().batch = each.begin;
    take_sink(sink, out.back());
  }
  return out;
}

}  // namespace qkv
