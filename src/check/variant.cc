// Forward and backward of a mistaken implementation, head by head.
#include "src/check/variant.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/check/variant_cache.h"
#include "src/check/variant_head.h"
#include "src/check/variant_layer.h"
#include "src/core/status_macros.h"
#include "src/ops/attention/attention_ref_row.h"

namespace qkv::check {
namespace {

using enum MistakeId;
using reference::element_at;

struct Gradients {
  const AttentionInputs& inputs;
  View<const void> d_o, d_lse;
  VariantResult& result;
  View<void> dbias;  // broadcast to [B,Hq,Tq,Tk]; absent without a bias
};

// o_i = Σ_j p_j v_j. A row that sees nothing gives what its weights say: 0, unless a mistake gave it some.
void mix_values(const VariantProblem& problem, const VariantHead& head, std::int64_t b, std::int64_t h, double* o) {
  const AttentionShape& shape = problem.shape;
  const std::int64_t tile = problem.mistakes.parameter(kLastQueriesDropped);
  const bool spoils = problem.mistakes.has(kHiddenTimesZero);  // 0 · NaN, 0 · ∞
  const std::int64_t rows = tile > 0 ? shape.query_length / tile * tile : shape.query_length;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < shape.key_length; ++j) {
      if (!head.sees(i, j) && !head.is_empty(i) && !spoils) continue;
      const double* v = problem.inputs.v.data() + problem.kv_row(b, h, j) * shape.value_width;
      const double weight = head.p(i, j);
      if (weight == 0 && !spoils) continue;
      for (std::int64_t c = 0; c < shape.value_width; ++c) {
        double& sum = o[i * shape.value_width + c];
        sum += weight * v[c];
        if (problem.mistakes.has(kAccumulateF16)) sum = to_float(to_f16(sum));
      }
    }
  if (const Mistake* scaled = problem.mistakes.find(kOutputScaled))
    for (std::int64_t at = 0; at < rows * shape.value_width; ++at) o[at] *= scaled->parameter;
}

// The weights that the backward pass uses, and whether a pair takes part.
class BackwardHead {
 public:
  // `again`: the head as the backward pass computes it again, `forward` unless a mistake makes them differ.
  BackwardHead(const VariantHead& forward, const VariantHead& again, bool keeps_lse)
      : again_(again), forward_(forward), keeps_lse_(keeps_lse) {}
  bool is_empty(std::int64_t i) const { return forward_.is_empty(i); }
  double p(std::int64_t i, std::int64_t j) const {
    if (is_empty(i)) return forward_.p(i, j);
    return keeps_lse_ ? exp_f32(again_.score(i, j) - forward_.lse(i)) : again_.p(i, j);
  }
  // In rowsum(p ⊙ dp), which is rowsum(do ⊙ o) where the forward's results are kept.
  double p_of_sum(std::int64_t i, std::int64_t j) const { return keeps_lse_ ? forward_.p(i, j) : p(i, j); }
  bool sees(std::int64_t i, std::int64_t j) const { return !is_empty(i) && again_.sees(i, j); }
  double bend(std::int64_t i, std::int64_t j) const { return again_.bend(i, j); }
  double sink_weight(std::int64_t i) const { return forward_.sink_weight(i); }

 private:
  const VariantHead& again_;
  const VariantHead& forward_;
  bool keeps_lse_;
};

double dot_with_value(const VariantProblem& problem, const Gradients& out, std::int64_t b, std::int64_t h,
                      std::int64_t i, std::int64_t j) {
  const double* v = problem.inputs.v.data() + problem.kv_row(b, h, j) * problem.shape.value_width;
  double sum = 0;
  for (std::int64_t c = 0; c < problem.shape.value_width; ++c) sum += element_at(out.d_o, b, h, i, c) * v[c];
  return sum;
}

// Adds what pair (i,j) of one head passes on.
void add_pair(const VariantProblem& problem, Gradients& out, const BackwardHead& head, reference::RowIndex at,
              std::int64_t j, double ds) {
  const AttentionShape& shape = problem.shape;
  const MistakeSet& mistakes = problem.mistakes;
  const std::int64_t group = shape.group();
  if (out.dbias.is_present()) {
    double& dbias = out.dbias.as<double>()(at.b, at.h, at.i, j);
    dbias = mistakes.has(kGradientBiasNotSummed) ? ds : dbias + ds;
  }
  const double scale = problem.scale(j);
  const double d_scaled = ds * (mistakes.has(kGradientSoftcapIgnored) ? 1 : head.bend(at.i, j));
  const double to_query = d_scaled * (mistakes.has(kGradientQueryUnscaled) ? 1 : scale);
  const double to_key = d_scaled * (mistakes.has(kGradientKeyUnscaled) ? 1 : scale);
  const bool is_last = at.h % group == group - 1;
  const bool counts = is_last || !mistakes.has(kGradientGroupNotSummed);
  const std::int64_t kv_head = mistakes.has(kGradientHeadsTiled) ? at.h % shape.kv_heads : at.h / group;
  const std::int64_t q_at = problem.query_at(at.b, at.h, at.i);
  const std::int64_t k_at = problem.kv_row(at.b, at.h, j) * shape.width;
  const std::int64_t to = (at.b * shape.kv_heads + kv_head) * shape.key_length + j;
  for (std::int64_t c = 0; c < shape.width; ++c) {
    out.result.dq.data<double>()[q_at + c] += to_query * problem.inputs.k[static_cast<std::size_t>(k_at + c)];
    if (counts)
      out.result.dk.data<double>()[to * shape.width + c] +=
          to_key * problem.inputs.q[static_cast<std::size_t>(q_at + c)];
  }
  if (!counts) return;
  for (std::int64_t c = 0; c < shape.value_width; ++c)
    out.result.dv.data<double>()[to * shape.value_width + c] +=
        head.p(at.i, j) * element_at(out.d_o, at.b, at.h, at.i, c);
}

void add_gradients(const VariantProblem& problem, Gradients& out, const BackwardHead& head, std::int64_t b,
                   std::int64_t h) {
  const AttentionShape& shape = problem.shape;
  const MistakeSet& mistakes = problem.mistakes;
  std::vector<double> dp(static_cast<std::size_t>(shape.key_length));
  for (std::int64_t i = 0; i < shape.query_length; ++i) {
    if (head.is_empty(i)) {  // its weights come from no score; those of a mean carry values all the same
      if (mistakes.has(kEmptyRowMean))
        for (std::int64_t j = 0; j < shape.key_length; ++j) add_pair(problem, out, head, {b, h, i}, j, 0);
      continue;
    }
    double delta = 0;
    for (std::int64_t j = 0; j < shape.key_length; ++j) {
      if (!head.sees(i, j)) continue;
      dp[static_cast<std::size_t>(j)] = dot_with_value(problem, out, b, h, i, j);
      delta += head.p_of_sum(i, j) * dp[static_cast<std::size_t>(j)];
    }
    double from_lse = 0;
    if (const View<const void>& d = out.d_lse; d.is_present() && !mistakes.has(kGradientLseIgnored))
      from_lse = element_as_double(d, b * d.strides[0] + h * d.strides[1] + i * d.strides[2]);
    for (std::int64_t j = 0; j < shape.key_length; ++j) {
      if (!head.sees(i, j)) continue;
      const double p = head.p(i, j);
      double ds = p * (dp[static_cast<std::size_t>(j)] - delta + from_lse);
      if (mistakes.has(kGradientWithoutRowTerm)) ds = p * (dp[static_cast<std::size_t>(j)] + from_lse);
      if (mistakes.has(kGradientDiagonal)) ds = p * (1 - p) * dp[static_cast<std::size_t>(j)] + p * from_lse;
      add_pair(problem, out, head, {b, h, i}, j, ds);
    }
    if (out.result.dsinks.is_present() && !problem.options.sinks.empty() && !mistakes.has(kGradientSinkZero))
      out.result.dsinks.data<double>()[h] -= head.sink_weight(i) * (delta - from_lse);
  }
}

Status allocate_gradients(const AttentionShape& shape, const AttentionOptions& options, Gradients& out) {
  VariantResult& result = out.result;
  QKV_ASSIGN_OR_RETURN(result.dq, Tensor::zeros(DType::kF64, out.inputs.q.shape));
  QKV_ASSIGN_OR_RETURN(result.dk, Tensor::zeros(DType::kF64, out.inputs.k.shape));
  QKV_ASSIGN_OR_RETURN(result.dv, Tensor::zeros(DType::kF64, out.inputs.v.shape));
  if (options.bias.is_present()) {
    QKV_ASSIGN_OR_RETURN(result.dbias, Tensor::zeros(DType::kF64, options.bias.shape));
    const View<const void> spread = broadcast_to_scores(shape, result.dbias.view());
    out.dbias = View<void>(result.dbias.data<void>(), DType::kF64, spread.shape, spread.strides);
  }
  if (options.sinks.empty()) return {};
  QKV_ASSIGN_OR_RETURN(result.dsinks, Tensor::zeros(DType::kF64, {shape.query_heads}));
  return {};
}

void compute(const VariantProblem& problem, VariantResult& result, Gradients* gradients) {
  const AttentionShape& shape = problem.shape;
  const bool keeps_lse = problem.mistakes.has(kGradientUnmaskedLse);
  const bool forgets_masks = keeps_lse || problem.mistakes.has(kGradientUnmasked);
  const VariantMask open_mask(shape, problem.options, problem.mistakes, true);
  const VariantProblem without_masks{shape, problem.options, problem.mistakes, problem.inputs, open_mask};
  for (std::int64_t b = 0; b < shape.batch; ++b)
    for (std::int64_t h = 0; h < shape.query_heads; ++h) {
      const VariantHead head(problem, b, h);
      const std::int64_t row = (b * shape.query_heads + h) * shape.query_length;
      mix_values(problem, head, b, h, result.o.data<double>() + row * shape.value_width);
      for (std::int64_t i = 0; i < shape.query_length; ++i) result.lse.data<double>()[row + i] = head.lse(i);
      if (gradients == nullptr) continue;
      if (forgets_masks) {
        const VariantHead again(without_masks, b, h);
        add_gradients(problem, *gradients, BackwardHead(head, again, keeps_lse), b, h);
      } else {
        add_gradients(problem, *gradients, BackwardHead(head, head, false), b, h);
      }
    }
}

// The tensor [B,H,T,..] of one that has the batch where the sequence belongs.
Status exchange(Tensor& tensor) {
  if (!tensor.is_present() || tensor.shape().rank() < 3) return {};
  QKV_ASSIGN_OR_RETURN(tensor, converted(swap_axes(std::as_const(tensor).view(), 0, 2), DType::kF64));
  return {};
}

// Attention across samples, as kBatchAsSequence has it. What belongs to a batch entry has no place there.
Result<VariantResult> compute_across(const AttentionInputs& inputs, const AttentionOptions& options,
                                     View<const void> d_o, View<const void> d_lse, std::span<const Mistake> mistakes) {
  std::vector<Mistake> others(mistakes.begin(), mistakes.end());
  std::erase_if(others, [](const Mistake& one) { return one.id == kBatchAsSequence; });
  const auto across = [](View<const void> view) { return view.is_present() ? swap_axes(view, 0, 2) : view; };
  QKV_ASSIGN_OR_RETURN(VariantResult result, compute_variant({across(inputs.q), across(inputs.k), across(inputs.v)},
                                                             options, across(d_o), across(d_lse), others));
  for (Tensor* tensor : {&result.o, &result.lse, &result.dq, &result.dk, &result.dv})
    QKV_RETURN_IF_ERROR(exchange(*tensor));
  return result;
}

bool has_options_of_entries(const AttentionOptions& options) {
  return options.keep.is_present() || options.key_mask.is_present() || options.bias.is_present() ||
         !options.key_lengths.empty() || !options.cu_seqlens_q.empty();
}

}  // namespace

Result<VariantResult> compute_variant(const AttentionInputs& inputs, const AttentionOptions& options,
                                      View<const void> d_o, View<const void> d_lse, std::span<const Mistake> mistakes) {
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(inputs, options, TypeRule::kAnyFloating));
  if (d_o.is_present()) QKV_RETURN_IF_ERROR(check_output_gradients(shape, d_o, d_lse));
  const MistakeSet set(mistakes);
  if (set.has(kBatchAsSequence) && shape.query_length == shape.key_length && !has_options_of_entries(options))
    return compute_across(inputs, options, d_o, d_lse, mistakes);
  const AttentionOptions read = without_what_is_ignored(shape, options, set);
  const VariantInputs values = read_inputs(shape, inputs, set);
  const VariantMask mask(shape, read, set);
  const VariantProblem problem{shape, read, set, values, mask};
  VariantResult result;
  QKV_ASSIGN_OR_RETURN(
      result.o, Tensor::zeros(DType::kF64, {shape.batch, shape.query_heads, shape.query_length, shape.value_width}));
  QKV_ASSIGN_OR_RETURN(result.lse, Tensor::zeros(DType::kF64, {shape.batch, shape.query_heads, shape.query_length}));
  if (!d_o.is_present()) {
    compute(problem, result, nullptr);
  } else {
    Gradients gradients{inputs, d_o, d_lse, result, {}};
    QKV_RETURN_IF_ERROR(allocate_gradients(shape, options, gradients));
    compute(problem, result, &gradients);
  }
  if (set.has(kHeadsMergedWrong)) {
    const std::vector<double> o(result.o.data<double>(), result.o.data<double>() + result.o.size());
    // The memory of [B,H,T,Dv] taken for [B,T,H,Dv].
    std::ranges::copy(axes_exchanged(o, {shape.batch, shape.query_length, shape.query_heads, shape.value_width}),
                      result.o.data<double>());
  }
  return result;
}

Result<VariantResult> compute_variant(const Case& asked, std::span<const Mistake> mistakes) {
  if (asked.problem.operation == Operation::kDecode)
    return compute_decode_variant(asked, asked.q.view, asked.sinks, mistakes);
  if (!is_layer(asked.problem))
    return compute_variant(asked.inputs(), asked.options(), asked.d_o.view, asked.d_lse.view, mistakes);
  VariantResult result;
  QKV_ASSIGN_OR_RETURN(result.layer, compute_layer_variant(asked.layer_given(), mistakes));
  return result;
}

}  // namespace qkv::check
