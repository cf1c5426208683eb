// Cuts a case into runs of rows, each with its positions spelled out as an offset.
#include "src/check/row_block.h"

#include <algorithm>
#include <vector>

#include "src/check/bounds.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

constexpr std::int64_t kHeads = 4;      // looked at in a long case
constexpr std::int64_t kMostRows = 16;  // of a run

// [B,Hkv,Tk,D] cut to one head.
View<const void> head_of(View<const void> view, std::int64_t batch, std::int64_t head) {
  const std::int64_t offset = batch * view.strides[0] + head * view.strides[1];
  const auto* first = static_cast<const char*>(view.data) + offset * static_cast<std::int64_t>(size_of(view.dtype));
  return {first, view.dtype, {1, 1, view.shape[2], view.shape[3]}, view.strides};
}

// Where query 0 of a batch entry stands, as an offset.
std::int64_t offset_of(const AttentionShape& shape, const AttentionOptions& options, std::int64_t batch) {
  if (options.corner == Corner::kOffset) return options.offset;
  if (options.corner != Corner::kBottomRight) return 0;
  const std::int64_t keys =
      options.key_lengths.empty() ? shape.key_length : options.key_lengths[static_cast<std::size_t>(batch)];
  return keys - shape.query_length;
}

// A mask or bias of the run: [1,1,count,Tk] with the strides that it broadcasts with.
View<const void> terms_of(const AttentionShape& shape, View<const void> view, const RowRun& run) {
  return view.is_present() ? rows_of(broadcast_to_scores(shape, view), run) : view;
}

// Starts of runs of `count` rows: the first rows, the middle ones, the last ones.
std::vector<std::int64_t> starts(std::int64_t rows, std::int64_t count) {
  std::vector<std::int64_t> found{0, (rows - count) / 2, rows - count};
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<RowRun> runs_of(const AttentionShape& shape, double work) {
  const double row_work = static_cast<double>(shape.key_length * (shape.width + shape.value_width));
  const double runs = 3.0 * kHeads;
  const std::int64_t count = std::clamp(static_cast<std::int64_t>(work / (runs * std::max(1.0, row_work))),
                                        std::int64_t{1}, std::min(kMostRows, shape.query_length));
  const std::int64_t heads = shape.batch * shape.query_heads;
  const std::int64_t looked_at = std::min(heads, kHeads);
  std::vector<RowRun> runs_found;
  for (std::int64_t i = 0; i < looked_at; ++i) {
    const std::int64_t at =
        looked_at == 1 ? 0 : i * (heads - 1) / (looked_at - 1);  // the first and the last among them
    for (std::int64_t first : starts(shape.query_length, count))
      runs_found.push_back({at / shape.query_heads, at % shape.query_heads, first, count});
  }
  return runs_found;
}

void note(const ForwardVerdict& verdict, std::int64_t rows, const std::string& where, SampledVerdict& sampled) {
  sampled.rows += rows;
  sampled.largest_error = std::max(sampled.largest_error, verdict.o.largest_error);
  if (sampled.passed && !verdict.passed()) sampled.failure = where + to_string(verdict);
  sampled.passed = sampled.passed && verdict.passed();
}

std::string where(const RowRun& run) {
  return "batch " + std::to_string(run.batch) + ", head " + std::to_string(run.head) + ", rows from " +
         std::to_string(run.first) + ": ";
}

}  // namespace

View<const void> rows_of(View<const void> view, const RowRun& run) {
  const std::int64_t offset = run.batch * view.strides[0] + run.head * view.strides[1] + run.first * view.strides[2];
  view.data = static_cast<const char*>(view.data) + offset * static_cast<std::int64_t>(size_of(view.dtype));
  view.shape[0] = view.shape[1] = 1;
  view.shape[2] = run.count;
  return view;
}

RowBlock row_block(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                   const RowRun& run) {
  const std::int64_t kv_head = run.head / shape.group();
  const auto batch = static_cast<std::size_t>(run.batch);
  const auto head = static_cast<std::size_t>(run.head);
  RowBlock block;
  block.inputs = {rows_of(inputs.q, run), head_of(inputs.k, run.batch, kv_head), head_of(inputs.v, run.batch, kv_head)};
  block.options = options;
  block.options.corner = Corner::kOffset;
  block.options.offset = offset_of(shape, options, run.batch) + run.first;
  block.options.keep = terms_of(shape, options.keep, run);
  block.options.bias = terms_of(shape, options.bias, run);
  if (options.key_mask.is_present()) {
    View<const void>& mask = block.options.key_mask;
    mask.data = static_cast<const char*>(mask.data) + run.batch * mask.strides[0];  // one byte an element
    mask.shape[0] = 1;
  }
  if (!options.key_lengths.empty()) block.options.key_lengths = options.key_lengths.subspan(batch, 1);
  if (!options.slopes.empty()) block.options.slopes = options.slopes.subspan(head, 1);
  if (!options.sinks.empty()) block.options.sinks = options.sinks.subspan(head, 1);
  return block;
}

Result<SampledVerdict> judge_rows(const AttentionInputs& inputs, const AttentionOptions& options,
                                  const AttentionOutputs& outputs, double work) {
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(inputs, options, TypeRule::kSameType));
  SampledVerdict sampled;
  sampled.of_rows = shape.batch * shape.query_heads * shape.query_length;
  const double whole = static_cast<double>(sampled.of_rows) * static_cast<double>(shape.key_length) *
                       static_cast<double>(shape.width + shape.value_width);
  if (whole <= work || !options.cu_seqlens_q.empty() || !options.cu_seqlens_k.empty()) {
    QKV_ASSIGN_OR_RETURN(const ForwardExpectation want, expect_forward(inputs, options, outputs.o.dtype));
    QKV_ASSIGN_OR_RETURN(const ForwardVerdict verdict, judge(want, outputs.o, outputs.lse));
    note(verdict, sampled.of_rows, "", sampled);
    return sampled;
  }
  for (const RowRun& run : runs_of(shape, work)) {
    const RowBlock block = row_block(shape, inputs, options, run);
    QKV_ASSIGN_OR_RETURN(const ForwardExpectation want, expect_forward(block.inputs, block.options, outputs.o.dtype));
    // lse has no width: [B,Hq,Tq] seen as [B,Hq,Tq,1] would need a fourth axis, so only o is looked at.
    QKV_ASSIGN_OR_RETURN(const ForwardVerdict verdict, judge(want, rows_of(outputs.o, run), {}));
    note(verdict, run.count, where(run), sampled);
  }
  return sampled;
}

}  // namespace qkv::check
