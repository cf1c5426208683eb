// The gradient of attention in float64, row by row, weights recomputed.
#include <cmath>
#include <utility>

#include "qkv/reference.h"
#include "src/core/status_macros.h"
#include "src/core/trace.h"
#include "src/ops/attention/attention_ref_row.h"

namespace qkv::reference {
namespace {

// Everything that a row's gradient reads and adds to.
struct Backward {
  const AttentionShape& shape;
  const AttentionInputs& inputs;
  const AttentionOptions& options;
  View<const void> d_o, d_lse;
  AttentionGradients& gradients;
  View<void> dq, dk, dv;  // of `gradients`
  View<void> dbias;       // broadcast to [B,Hq,Tq,Tk]
  // Rows of a trace, or null.
  double* dp = nullptr;
  double* delta = nullptr;
  double* ds = nullptr;
};

double& at(const View<void>& view, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return view.as<double>()(a, b, c, d);
}

// do_i · v_j
double dot_with_value(const Backward& pass, RowIndex row, std::int64_t j) {
  const std::int64_t kv_head = row.h / pass.shape.group();
  double sum = 0;
  for (std::int64_t c = 0; c < pass.shape.value_width; ++c)
    sum += element_at(pass.d_o, row.b, row.h, row.i, c) * element_at(pass.inputs.v, row.b, kv_head, j, c);
  return sum;
}

// Adds what the score of pair (i,j) passes on to q_i and k_j. `d_scaled` is the gradient of scale · q_i·k_j.
void add_to_q_and_k(const Backward& pass, RowIndex row, std::int64_t j, double d_scaled) {
  const std::int64_t kv_head = row.h / pass.shape.group();
  const double factor = d_scaled * resolve_scale(pass.shape, pass.options);
  for (std::int64_t c = 0; c < pass.shape.width; ++c) {
    at(pass.dq, row.b, row.h, row.i, c) += factor * element_at(pass.inputs.k, row.b, kv_head, j, c);
    at(pass.dk, row.b, kv_head, j, c) += factor * element_at(pass.inputs.q, row.b, row.h, row.i, c);
  }
}

// rowsum(do ⊙ o) as Σ_j p_j dp_j, which is the same and needs no o. Shape: dp [Tk], filled for the keys that are seen.
double row_delta(const Backward& pass, RowIndex row, const ScoreRow& scores, double* dp) {
  double delta = 0;
  for (std::int64_t j = 0; j < pass.shape.key_length; ++j) {
    if (scores.sees(j) || pass.dp != nullptr) dp[j] = dot_with_value(pass, row, j);
    if (scores.sees(j)) delta += scores.p[j] * dp[j];
  }
  return delta;
}

// Shape: dp [Tk], scratch or the row's place in the trace.
void add_row(const Backward& pass, RowIndex row, const ScoreRow& scores, double* dp) {
  const AttentionShape& shape = pass.shape;
  const std::int64_t kv_head = row.h / shape.group();
  const std::int64_t index = (row.b * shape.query_heads + row.h) * shape.query_length + row.i;
  const double delta = row_delta(pass, row, scores, dp);
  const View<const void>& d_lse = pass.d_lse;
  double from_lse = 0;
  if (d_lse.is_present())
    from_lse = element_as_double(d_lse, row.b * d_lse.strides[0] + row.h * d_lse.strides[1] + row.i * d_lse.strides[2]);
  if (pass.delta != nullptr) pass.delta[index] = delta;
  for (std::int64_t j = 0; j < shape.key_length; ++j) {
    if (!scores.sees(j)) continue;
    const double ds = scores.p[j] * (dp[j] - delta + from_lse);
    if (pass.ds != nullptr) pass.ds[index * shape.key_length + j] = ds;
    if (pass.dbias.is_present()) at(pass.dbias, row.b, row.h, row.i, j) += ds;
    double slope = 1;  // of the softcap
    if (pass.options.softcap) {
      const double bent = std::tanh(scores.scaled[j] / *pass.options.softcap);
      slope = 1 - bent * bent;
    }
    add_to_q_and_k(pass, row, j, ds * slope);
    for (std::int64_t c = 0; c < shape.value_width; ++c)
      at(pass.dv, row.b, kv_head, j, c) += scores.p[j] * element_at(pass.d_o, row.b, row.h, row.i, c);
  }
  if (!pass.options.sinks.empty())
    pass.gradients.dsinks.data<double>()[row.h] -= scores.sum.p_sink * (delta - from_lse);
}

Status allocate(Backward& pass) {
  AttentionGradients& out = pass.gradients;
  QKV_ASSIGN_OR_RETURN(out.dq, Tensor::zeros(DType::kF64, pass.inputs.q.shape));
  QKV_ASSIGN_OR_RETURN(out.dk, Tensor::zeros(DType::kF64, pass.inputs.k.shape));
  QKV_ASSIGN_OR_RETURN(out.dv, Tensor::zeros(DType::kF64, pass.inputs.v.shape));
  pass.dq = out.dq.view();
  pass.dk = out.dk.view();
  pass.dv = out.dv.view();
  if (pass.options.bias.is_present()) {
    QKV_ASSIGN_OR_RETURN(out.dbias, Tensor::zeros(DType::kF64, pass.options.bias.shape));
    const View<const void> spread = broadcast_to_scores(pass.shape, out.dbias.view());
    pass.dbias = View<void>(out.dbias.data<void>(), DType::kF64, spread.shape, spread.strides);
  }
  if (pass.options.sinks.empty()) return {};
  QKV_ASSIGN_OR_RETURN(out.dsinks, Tensor::zeros(DType::kF64, {pass.shape.query_heads}));
  return {};
}

// The stages that lie between do and the gradients.
Status allocate_stages(Backward& pass, Trace& stages) {
  const AttentionShape& shape = pass.shape;
  const Dims rows{shape.batch, shape.query_heads, shape.query_length};
  const Dims scores{shape.batch, shape.query_heads, shape.query_length, shape.key_length};
  const bool with_lse = pass.d_lse.is_present();
  QKV_RETURN_IF_ERROR(add_stage(stages, {"do", "", {"B", "Hq", "Tq", "Dv"}, {}, {}}, pass.d_o));
  if (with_lse) QKV_RETURN_IF_ERROR(add_stage(stages, {"dlse", "", {"B", "Hq", "Tq"}, {}, {}}, pass.d_lse));
  QKV_ASSIGN_OR_RETURN(pass.dp, add_stage(stages, {"dp", "do · vᵀ", {"B", "Hq", "Tq", "Tk"}, {"do", "v"}, {}}, scores));
  QKV_ASSIGN_OR_RETURN(pass.delta,
                       add_stage(stages, {"delta", "rowsum(do ⊙ o)", {"B", "Hq", "Tq"}, {"do", "o"}, {}}, rows));
  Stage ds{"ds", "p ⊙ (dp − delta)", {"B", "Hq", "Tq", "Tk"}, {"p", "dp", "delta"}, {}};
  if (with_lse) {
    ds.formula = "p ⊙ (dp − delta + dlse)";
    ds.from.emplace_back("dlse");
  }
  QKV_ASSIGN_OR_RETURN(pass.ds, add_stage(stages, std::move(ds), scores));
  return {};
}

Status add_gradient_stages(const Backward& pass, Trace& stages) {
  const AttentionGradients& out = pass.gradients;
  const bool capped = pass.options.softcap.has_value();
  const std::string ds = capped ? "(ds ⊙ (1 − tanh²(scaled / softcap)))" : "ds";
  const auto from = [&](const char* other) {
    std::vector<std::string> names{"ds", other};
    if (capped) names.emplace_back("scaled");
    return names;
  };
  QKV_RETURN_IF_ERROR(
      add_stage(stages, {"dq", "scale · " + ds + " · k", {"B", "Hq", "Tq", "D"}, from("k"), {}}, out.dq.view()));
  QKV_RETURN_IF_ERROR(
      add_stage(stages, {"dk", "scale · " + ds + "ᵀ · q", {"B", "Hkv", "Tk", "D"}, from("q"), {}}, out.dk.view()));
  QKV_RETURN_IF_ERROR(add_stage(stages, {"dv", "pᵀ · do", {"B", "Hkv", "Tk", "Dv"}, {"p", "do"}, {}}, out.dv.view()));
  if (out.dbias.is_present()) {
    const char* letters[] = {"B", "Hq", "Tq", "Tk"};
    const Dims& shape = out.dbias.shape();
    Stage stage{"dbias", "ds summed over the axes that bias broadcasts", {}, {"ds"}, {}};
    for (int axis = 0; axis < shape.rank(); ++axis)
      stage.dims.emplace_back(shape[axis] == 1 ? "1" : letters[kMaxRank - shape.rank() + axis]);
    QKV_RETURN_IF_ERROR(add_stage(stages, std::move(stage), out.dbias.view()));
  }
  if (!out.dsinks.is_present()) return {};
  Stage stage{"dsinks", "−Σ exp(sink − lse) · delta", {"Hq"}, {"lse", "delta"}, {}};
  if (pass.d_lse.is_present()) {
    stage.formula = "−Σ exp(sink − lse) · (delta − dlse)";
    stage.from.emplace_back("dlse");
  }
  return add_stage(stages, std::move(stage), out.dsinks.view());
}

Status add_every_row(const Backward& pass) {
  const AttentionShape& shape = pass.shape;
  QKV_ASSIGN_OR_RETURN(const ScoreRows rows, ScoreRows::create(shape, pass.inputs, pass.options, nullptr));
  QKV_ASSIGN_OR_RETURN(Tensor scratch, Tensor::zeros(DType::kF64, {shape.key_length}));
  double* dp = pass.dp != nullptr ? pass.dp : scratch.data<double>();
  for (std::int64_t b = 0; b < shape.batch; ++b)
    for (std::int64_t h = 0; h < shape.query_heads; ++h)
      for (std::int64_t i = 0; i < shape.query_length; ++i) {
        add_row(pass, {b, h, i}, rows.make({b, h, i}), dp);
        if (pass.dp != nullptr) dp += shape.key_length;
      }
  return {};
}

}  // namespace

Result<AttentionGradients> attention_backward(const AttentionInputs& inputs, View<const void> d_o,
                                              View<const void> d_lse, const AttentionOptions& options, Trace* trace) {
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(inputs, options, TypeRule::kAnyFloating));
  QKV_RETURN_IF_ERROR(check_output_gradients(shape, d_o, d_lse));
  AttentionGradients gradients;
  Backward pass{shape, inputs, options, d_o, d_lse, gradients, {}, {}, {}, {}};
  QKV_RETURN_IF_ERROR(allocate(pass));
  Trace stages;
  if (trace != nullptr) {
    QKV_ASSIGN_OR_RETURN(const AttentionResult forward, attention_forward(inputs, options, &stages));
    QKV_RETURN_IF_ERROR(allocate_stages(pass, stages));
  }
  QKV_RETURN_IF_ERROR(add_every_row(pass));
  if (trace != nullptr) {
    QKV_RETURN_IF_ERROR(add_gradient_stages(pass, stages));
    append_stages(*trace, std::move(stages));
  }
  return gradients;
}

}  // namespace qkv::reference
