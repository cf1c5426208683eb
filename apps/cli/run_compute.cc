// Allocates the outputs in the file's layout, runs, measures.
#include "apps/cli/run_compute.h"

#include <chrono>
#include <cstdio>

#include "apps/cli/progress_bar.h"
#include "qkv/reference.h"
#include "src/core/four_axes.h"
#include "src/core/status_macros.h"

namespace qkv::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Takes the tensor over and returns a view of it.
View<void> keep(Computed& computed, Tensor tensor) {
  computed.memory.push_back(std::move(tensor));
  return computed.memory.back().view();
}

// [B,H,T,Dv], contiguous in the layout of the file.
Result<View<void>> make_o(const RunCase& run, const RunOptions& options, Computed& computed) {
  DType dtype = run.inputs.q.dtype;
  if (!options.out_dtype.empty()) {
    QKV_ASSIGN_OR_RETURN(dtype, parse_out_dtype(options.out_dtype));
  }
  const AttentionShape& s = run.shape;
  const bool tokens_first = run.layout == Layout::kBTHD;
  const Dims dims = tokens_first ? Dims{s.batch, s.query_length, s.query_heads, s.value_width}
                                 : Dims{s.batch, s.query_heads, s.query_length, s.value_width};
  QKV_ASSIGN_OR_RETURN(Tensor o, Tensor::zeros(dtype, dims));
  const View<void> view = keep(computed, std::move(o));
  return tokens_first ? swap_axes(view, 1, 2) : view;
}

Result<View<void>> make_lse(const RunCase& run, Computed& computed) {
  const DType dtype = run.inputs.q.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  QKV_ASSIGN_OR_RETURN(Tensor lse,
                       Tensor::zeros(dtype, {run.shape.batch, run.shape.query_heads, run.shape.query_length}));
  return keep(computed, std::move(lse));
}

// [B,H,T] without the leading axes that q lacks.
View<const void> lse_in_file(View<const void> lse, int q_rank) {
  Dims shape;
  for (int axis = kMaxRank - q_rank; axis < 3; ++axis) shape.push_back(lse.shape[axis]);
  return {lse.data, lse.dtype, shape};
}

Status forward(const RunCase& run, const RunOptions& options, Console& console, Computed& computed) {
  AttentionOutputs outputs;
  QKV_ASSIGN_OR_RETURN(outputs.o, make_o(run, options, computed));
  if (options.lse) {
    QKV_ASSIGN_OR_RETURN(outputs.lse, make_lse(run, computed));
  }
  Execution execution;
  execution.threads = options.threads;
  QKV_ASSIGN_OR_RETURN(execution.target, parse_target(options.target));
  ProgressBar bar(console);
  execution.progress = [&bar](std::int64_t done, std::int64_t total) {
    bar.show(done, total);
    return !InterruptGuard::requested();
  };
  const Clock::time_point start = Clock::now();
  QKV_ASSIGN_OR_RETURN(computed.report, attention_forward(run.inputs, outputs, run.options, execution));
  computed.seconds = seconds_since(start);
  computed.tensors.push_back({"o", without_leading_axes(outputs.o, run.layout, run.q_rank)});
  if (options.lse) computed.tensors.push_back({"lse", lse_in_file(outputs.lse, run.q_rank)});
  return {};
}

// Rounds a float64 gradient once to the type of its input.
Result<View<const void>> rounded(const Tensor& gradient, DType dtype, Computed& computed) {
  QKV_ASSIGN_OR_RETURN(Tensor tensor, converted(gradient.view(), dtype));
  return View<const void>(keep(computed, std::move(tensor)));
}

Status add_gradients(const RunCase& run, const reference::AttentionGradients& gradients, Computed& computed) {
  struct Row {
    const char* name;
    const Tensor& gradient;
    int rank;
  };
  const DType dtype = run.inputs.q.dtype;
  for (const Row& row : {Row{"dq", gradients.dq, run.q_rank}, Row{"dk", gradients.dk, run.k_rank},
                         Row{"dv", gradients.dv, run.v_rank}}) {
    QKV_ASSIGN_OR_RETURN(const View<const void> view, rounded(row.gradient, dtype, computed));
    computed.tensors.push_back({row.name, without_leading_axes(view, run.layout, row.rank)});
  }
  for (const Row& row : {Row{"dbias", gradients.dbias, 0}, Row{"dsinks", gradients.dsinks, 0}}) {
    if (!row.gradient.is_present()) continue;
    QKV_ASSIGN_OR_RETURN(const View<const void> view, rounded(row.gradient, dtype, computed));
    computed.tensors.push_back({row.name, view});
  }
  return {};
}

Status backward(const RunCase& run, Computed& computed) {
  const Clock::time_point start = Clock::now();
  QKV_ASSIGN_OR_RETURN(const reference::AttentionGradients gradients,
                       reference::attention_backward(run.inputs, run.d_o, run.d_lse, run.options));
  computed.backward_seconds = seconds_since(start);
  return add_gradients(run, gradients, computed);
}

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

Result<Computed> compute(const RunCase& run, const RunOptions& options, Console& console, InterruptGuard& guard) {
  Computed computed;
  guard.end_at_once(false);  // the forward pass asks for itself whether to go on
  QKV_RETURN_IF_ERROR(forward(run, options, console, computed));
  if (options.backward) {
    guard.end_at_once(true);
    QKV_RETURN_IF_ERROR(backward(run, computed));
    guard.end_at_once(false);
  }
  return computed;
}

std::string time_text(double seconds) {
  return seconds >= 1 ? formatted("%.2f s", seconds) : formatted("%.3g ms", seconds * 1e3);
}

std::string summary(const Problem& problem, const Computed& computed) {
  std::string text = format(problem) + ": target " + std::string(to_string(computed.report.target)) + ", " +
                     std::to_string(computed.report.threads) +
                     (computed.report.threads == 1 ? " thread, " : " threads, ") + time_text(computed.seconds);
  if (computed.seconds > 0) text += formatted(", %.3g GF/s", computed.report.flops / computed.seconds * 1e-9);
  if (computed.backward_seconds > 0)
    text += "; backward by the float64 reference, " + time_text(computed.backward_seconds);
  return text;
}

}  // namespace qkv::cli
