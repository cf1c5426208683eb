// The statistics of heads from the whole matrix of weights, in float64 plain loops.
#include <cmath>

#include "qkv/reference.h"
#include "qkv/survey.h"
#include "src/core/status_macros.h"
#include "src/survey/survey_call.h"

namespace qkv::reference {
namespace {

// The stages of one call, and where its queries stand.
struct Matrices {
  const AttentionShape& shape;
  const Positions& positions;
  const SurveyCall& call;
  const double* scores;  // [B,Hq,Tq,Tk], −inf where hidden
  const double* weights;
  const double* lse;  // [B,Hq,Tq]
};

std::int64_t token(const View<const void>& tokens, std::int64_t batch, std::int64_t key) {
  return static_cast<std::int64_t>(element_as_double(tokens, batch * tokens.strides[0] + key * tokens.strides[1]));
}

RowTotals totals_of_row(const Matrices& all, const View<const void>& tokens, std::int64_t batch, std::int64_t row,
                        std::int64_t position) {
  const std::int64_t keys = all.shape.key_length;
  const bool has_token = tokens.is_present() && position >= 0 && position < keys;
  RowTotals out;
  for (std::int64_t j = 0; j < keys; ++j) {
    if (all.scores[row * keys + j] == -std::numeric_limits<double>::infinity()) continue;
    const double p = all.weights[row * keys + j];
    const std::int64_t distance = std::abs(position - j);
    out.mass += p;
    if (p > 0) out.information += p * std::log(p);
    out.square += p * p;
    out.largest = std::fmax(out.largest, p);
    out.distance += p * static_cast<double>(distance);
    out.seen += 1;
    out.seen_distance += static_cast<double>(distance);
    out.bins[static_cast<std::size_t>(distance_bin(distance))] += p;
    if (j == all.call.padding.first_key(batch)) out.first = p, out.first_seen = 1;
    if (j == position - 1) out.previous = p;
    if (j == position) out.self = p, out.self_seen = 1;
    if (j == position + 1) out.next = p;
    if (!has_token) continue;
    const std::int64_t mine = token(tokens, batch, position);
    if (j < position && token(tokens, batch, j) == mine) out.duplicate += p;
    if (j > 0 && token(tokens, batch, j - 1) == mine) out.induction += p;
  }
  return out;
}

void add_columns(const Matrices& all, std::int64_t row, ColumnTotals& columns) {
  const std::int64_t keys = all.shape.key_length;
  for (std::int64_t j = 0; j < keys; ++j) {
    if (all.scores[row * keys + j] == -std::numeric_limits<double>::infinity()) continue;
    columns.mass[static_cast<std::size_t>(j)] += all.weights[row * keys + j];
    ++columns.rows[static_cast<std::size_t>(j)];
  }
}

HeadStatistics survey_head(const Matrices& all, const SurveyInputs& inputs, const AttentionOptions& options,
                           const HeadOfBatches& head_of) {
  const std::int64_t head = head_of.head;
  HeadTotals rows;
  HeadStatistics sink;
  for (std::int64_t batch = head_of.begin; batch < head_of.end; ++batch) {
    const auto keys = static_cast<std::size_t>(all.shape.key_length);
    ColumnTotals columns{std::vector<double>(keys), std::vector<std::int64_t>(keys)};
    for (std::int64_t i = 0; i < all.shape.query_length; ++i) {
      const std::int64_t row = (batch * all.shape.query_heads + head) * all.shape.query_length + i;
      const double lse = all.lse[row];
      const std::int64_t position = all.call.position(all.positions.sequence_of(batch, i), i);
      if (all.call.padding.hides(batch, position)) continue;
      if (!std::isfinite(lse)) {
        if (lse != -std::numeric_limits<double>::infinity()) rows.add_not_finite();
        continue;
      }
      const double share = options.sinks.empty() ? 0 : std::exp(options.sinks[static_cast<std::size_t>(head)] - lse);
      const RowTotals totals = totals_of_row(all, inputs.tokens, batch, row, position);
      rows.add_row(totals, static_cast<double>(position - all.call.padding.first_key(batch)), share);
      if (totals.seen >= 2) add_columns(all, row, columns);
    }
    take_larger_sink(columns, batch, sink);
  }
  HeadStatistics out =
      rows.statistics(head, all.call.has_positions, inputs.tokens.is_present(), !options.sinks.empty());
  if (inputs.batches == BatchEntries::kApart) out.batch = head_of.begin;
  take_sink(sink, out);
  return out;
}

}  // namespace

Result<std::vector<HeadStatistics>> survey(const SurveyInputs& inputs, const AttentionOptions& options) {
  const AttentionInputs tensors{inputs.q, inputs.k, narrow_values(inputs.k)};
  Trace trace;
  QKV_RETURN_IF_ERROR(attention_forward(tensors, options, &trace).status());
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(tensors, options, TypeRule::kAnyFloating));
  QKV_RETURN_IF_ERROR(check_tokens(shape, inputs.tokens));
  const Positions positions(shape, options);
  const ForwardCall forward{shape, tensors, {}, options, positions, 1, {}, {}};
  SurveyCall call{forward, query_start_of(inputs, options), knows_positions(shape, inputs, options, positions), {}, {}};
  call.padding = Padding(shape, options, call.has_positions);
  const Matrices all{shape,
                     positions,
                     call,
                     trace.find("masked")->values.data<double>(),
                     trace.find("p")->values.data<double>(),
                     trace.find("lse")->values.data<double>()};
  std::vector<HeadStatistics> out;
  for (const HeadOfBatches& head : heads_of(shape, inputs.batches))
    out.push_back(survey_head(all, inputs, options, head));
  return out;
}

}  // namespace qkv::reference
