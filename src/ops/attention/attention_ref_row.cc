// Scores, softcap, bias, mask and softmax of one row.
#include "src/ops/attention/attention_ref_row.h"

#include <cmath>
#include <string>
#include <utility>

#include "src/core/status_macros.h"
#include "src/core/trace.h"

namespace qkv::reference {

Result<ScoreRows> ScoreRows::create(const AttentionShape& shape, const AttentionInputs& inputs,
                                    const AttentionOptions& options, Trace* trace) {
  ScoreRows rows(shape, inputs, options);
  QKV_RETURN_IF_ERROR(trace == nullptr ? rows.allocate_row() : rows.allocate_stages(*trace));
  return rows;
}

Status ScoreRows::allocate_row() {
  constexpr std::int64_t kStages = 6;
  QKV_ASSIGN_OR_RETURN(scratch_, Tensor::zeros(DType::kF64, {kStages, shape_.key_length}));
  double* next = scratch_.data<double>();
  for (double** stage : {&first_.raw, &first_.scaled, &first_.capped, &first_.biased, &first_.masked, &first_.p}) {
    *stage = next;
    next += shape_.key_length;
  }
  return {};
}

Status ScoreRows::allocate_stages(Trace& trace) {
  every_pair_ = true;
  row_step_ = shape_.key_length;
  QKV_RETURN_IF_ERROR(add_stage(trace, {"q", "", {"B", "Hq", "Tq", "D"}, {}, {}}, inputs_.q));
  QKV_RETURN_IF_ERROR(add_stage(trace, {"k", "", {"B", "Hkv", "Tk", "D"}, {}, {}}, inputs_.k));
  QKV_RETURN_IF_ERROR(add_stage(trace, {"v", "", {"B", "Hkv", "Tk", "Dv"}, {}, {}}, inputs_.v));
  const Dims shape{shape_.batch, shape_.query_heads, shape_.query_length, shape_.key_length};
  const auto scores = [&](std::string name, std::string formula, std::vector<std::string> from) {
    return add_stage(trace, {std::move(name), std::move(formula), {"B", "Hq", "Tq", "Tk"}, std::move(from), {}}, shape);
  };
  QKV_ASSIGN_OR_RETURN(first_.raw, scores("raw", "q · kᵀ", {"q", "k"}));
  QKV_ASSIGN_OR_RETURN(first_.scaled, scores("scaled", "scale · raw", {"raw"}));
  std::string last = "scaled";
  first_.capped = first_.scaled;
  if (options_.softcap) {
    QKV_ASSIGN_OR_RETURN(first_.capped, scores("capped", "softcap · tanh(scaled / softcap)", {last}));
    last = "capped";
  }
  first_.biased = first_.capped;
  if (options_.bias.is_present() || !options_.slopes.empty()) {
    const std::string formula =
        last + (options_.bias.is_present() ? " + bias" : "") + (options_.slopes.empty() ? "" : " − slope · |p − j|");
    QKV_ASSIGN_OR_RETURN(first_.biased, scores("biased", formula, {last}));
    last = "biased";
  }
  QKV_ASSIGN_OR_RETURN(first_.masked, scores("masked", last + " where allowed, else −∞", {last}));
  QKV_ASSIGN_OR_RETURN(first_.p, scores("p", "softmax(masked)", {"masked"}));
  return {};
}

ScoreRow ScoreRows::memory_of(RowIndex row) const {
  const std::int64_t skip = ((row.b * shape_.query_heads + row.h) * shape_.query_length + row.i) * row_step_;
  ScoreRow memory = first_;
  for (double** stage : {&memory.raw, &memory.scaled, &memory.capped, &memory.biased, &memory.masked, &memory.p})
    *stage += skip;
  return memory;
}

double ScoreRows::dot(RowIndex row, std::int64_t j) const {
  const std::int64_t kv_head = row.h / shape_.group();
  double sum = 0;
  for (std::int64_t c = 0; c < shape_.width; ++c)
    sum += element_at(inputs_.q, row.b, row.h, row.i, c) * element_at(inputs_.k, row.b, kv_head, j, c);
  return sum;
}

ScoreRow ScoreRows::make(RowIndex row) const {
  const RowRules rules(shape_, options_, row);
  ScoreRow out = memory_of(row);
  for (std::int64_t j = 0; j < shape_.key_length; ++j) {
    const bool seen = rules.allowed(j);
    out.masked[j] = kHidden;
    if (!seen && !every_pair_) continue;
    out.raw[j] = dot(row, j);
    out.scaled[j] = scale_ * out.raw[j];
    out.capped[j] = options_.softcap ? *options_.softcap * std::tanh(out.scaled[j] / *options_.softcap) : out.scaled[j];
    out.biased[j] = out.capped[j] + rules.bias(j);
    if (seen) out.masked[j] = out.biased[j];
  }
  const double sink = options_.sinks.empty() ? kHidden : options_.sinks[static_cast<std::size_t>(row.h)];
  out.sum = softmax_row(out.masked, shape_.key_length, sink, out.p);
  return out;
}

}  // namespace qkv::reference
