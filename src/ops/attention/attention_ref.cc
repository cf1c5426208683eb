// Forward attention in float64, row by row.
#include <utility>

#include "qkv/reference.h"
#include "src/core/status_macros.h"
#include "src/core/trace.h"
#include "src/ops/attention/attention_ref_row.h"

namespace qkv::reference {
namespace {

// o_i = Σ_j p_j v_j over the keys that are seen; the others' values are not read. Shape: o [Dv], zero before.
void mix_values(const AttentionShape& shape, const View<const void>& v, RowIndex at, const ScoreRow& row, double* o) {
  const std::int64_t kv_head = at.h / shape.group();
  for (std::int64_t j = 0; j < shape.key_length; ++j) {
    if (!row.sees(j)) continue;
    for (std::int64_t c = 0; c < shape.value_width; ++c) o[c] += row.p[j] * element_at(v, at.b, kv_head, j, c);
  }
}

}  // namespace

Result<AttentionResult> attention_forward(const AttentionInputs& inputs, const AttentionOptions& options, Trace* trace,
                                          const Progress& progress) {
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(inputs, options, TypeRule::kAnyFloating));
  Trace stages;
  QKV_ASSIGN_OR_RETURN(const ScoreRows rows,
                       ScoreRows::create(shape, inputs, options, trace == nullptr ? nullptr : &stages));
  AttentionResult result;
  QKV_ASSIGN_OR_RETURN(
      result.o, Tensor::zeros(DType::kF64, {shape.batch, shape.query_heads, shape.query_length, shape.value_width}));
  QKV_ASSIGN_OR_RETURN(result.lse, Tensor::zeros(DType::kF64, {shape.batch, shape.query_heads, shape.query_length}));
  double* o = result.o.data<double>();
  double* lse = result.lse.data<double>();
  const std::int64_t all_rows = result.lse.size();
  std::int64_t done = 0;
  for (std::int64_t b = 0; b < shape.batch; ++b)
    for (std::int64_t h = 0; h < shape.query_heads; ++h)
      for (std::int64_t i = 0; i < shape.query_length; ++i) {
        const ScoreRow row = rows.make({b, h, i});
        mix_values(shape, inputs.v, {b, h, i}, row, o);
        *lse++ = row.sum.lse;
        o += shape.value_width;
        if (progress && !progress(++done, all_rows)) return cancelled("attention_forward: stopped by the caller");
      }
  if (trace == nullptr) return result;
  const char* sum = options.sinks.empty() ? "ln Σ exp(masked)" : "ln(Σ exp(masked) + exp(sink))";
  QKV_RETURN_IF_ERROR(add_stage(stages, {"lse", sum, {"B", "Hq", "Tq"}, {"masked"}, {}}, result.lse.view()));
  QKV_RETURN_IF_ERROR(add_stage(stages, {"o", "p · v", {"B", "Hq", "Tq", "Dv"}, {"p", "v"}, {}}, result.o.view()));
  append_stages(*trace, std::move(stages));
  return result;
}

}  // namespace qkv::reference
