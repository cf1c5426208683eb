// layernorm_forward and layernorm_backward: check, plan, run.
#include "src/ops/layernorm/layernorm.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "src/core/parallel.h"
#include "src/core/row_runs.h"
#include "src/core/status_macros.h"
#include "src/core/view_memory.h"
#include "src/core/workspace_lease.h"
#include "src/ops/layernorm/check_layernorm.h"

namespace qkv {
namespace {

constexpr std::int64_t kRowsPerTask = 16;
constexpr std::int64_t kElementsWorthSharing = 1 << 17;  // about 50 µs

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

LayerNormPlan::LayerNormPlan(View<const void> x, const LayerNormWeights& weights, View<void> u, Target target)
    : call_{x, {}, weights, u, {}}, kernel_(layernorm_kernel(target, x.dtype)), rows_(x.shape[0] * x.shape[1]) {}

LayerNormPlan::LayerNormPlan(View<const void> x, View<const void> d_u, const LayerNormWeights& weights,
                             const LayerNormGradientViews& gradients, Target target)
    : call_{x, d_u, weights, {}, gradients.dx},
      dgamma_(gradients.dgamma),
      dbeta_(gradients.dbeta),
      kernel_(layernorm_kernel(target, x.dtype)),
      rows_(x.shape[0] * x.shape[1]) {}

std::int64_t LayerNormPlan::tasks() const {
  return call_.u.is_present() ? (rows_ + kRowsPerTask - 1) / kRowsPerTask : row_runs(rows_);
}

int LayerNormPlan::threads(int available) const {
  if (rows_ * call_.x.shape[2] < kElementsWorthSharing) return 1;
  return static_cast<int>(std::clamp<std::int64_t>(tasks(), 1, available));
}

// About eight operations an element forward, twice as many backward.
double LayerNormPlan::flops() const {
  return (call_.u.is_present() ? 8.0 : 16.0) * static_cast<double>(rows_ * call_.x.shape[2]);
}

// Rows of every worker, then backward the sums of every run.
std::size_t LayerNormPlan::scratch_bytes(int threads) const {
  const std::size_t row = static_cast<std::size_t>(kernel_.padded(call_.x.shape[2])) * kernel_.element;
  const std::size_t worker = aligned(static_cast<std::size_t>(kernel_.rows) * row);
  const std::size_t sums = call_.u.is_present() ? 0 : 2 * static_cast<std::size_t>(tasks()) * row;
  return worker * static_cast<std::size_t>(threads) + aligned(sums);
}

bool LayerNormPlan::run(char* scratch, int threads, const Execution& execution) const {
  const std::int64_t padded = kernel_.padded(call_.x.shape[2]);
  const std::size_t row = static_cast<std::size_t>(padded) * kernel_.element;
  const std::size_t worker_bytes = aligned(static_cast<std::size_t>(kernel_.rows) * row);
  if (call_.u.is_present())
    return parallel_for(tasks(), threads, execution, [&](std::int64_t task, int worker) {
      const std::int64_t begin = task * kRowsPerTask;
      kernel_.forward(call_, begin, std::min(kRowsPerTask, rows_ - begin),
                      scratch + static_cast<std::size_t>(worker) * worker_bytes);
    });
  char* const sums = scratch + worker_bytes * static_cast<std::size_t>(threads);
  const bool finished = parallel_for(tasks(), threads, execution, [&](std::int64_t task, int worker) {
    const RowRun run = row_run(rows_, task);
    kernel_.backward(call_, run.begin, run.count, sums + static_cast<std::size_t>(task) * 2 * row,
                     scratch + static_cast<std::size_t>(worker) * worker_bytes);
  });
  if (!finished) return false;
  if (dgamma_.is_present()) kernel_.add_runs(sums, tasks(), 2 * padded, dgamma_);
  if (dbeta_.is_present()) kernel_.add_runs(sums + row, tasks(), 2 * padded, dbeta_);
  return true;
}

namespace {

using Named = std::pair<const char*, View<const void>>;

// [M,C] as [1,M,C].
template <class V>
V with_batch(V view) {
  if (view.shape.rank() != 2) return view;
  view.strides = {view.shape[0] * view.strides[0], view.strides[0], view.strides[1]};
  view.shape = {1, view.shape[0], view.shape[1]};
  return view;
}

Status check_rank(View<const void> x) {
  if (x.shape.rank() == 2 || x.shape.rank() == 3) return {};
  return shape_mismatch("layernorm: x [B,T,C] needs 3 axes (or 2), found " + std::to_string(x.shape.rank()) + ": " +
                        to_string(x.shape));
}

// What the fast path asks of an output besides its shape.
Status check_output(const Named& output, const Dims& shape, View<const void> x) {
  const std::string name = output.first;
  if (output.second.shape != shape)
    return shape_mismatch("layernorm: " + name + " is " + to_string(output.second.shape) + "; expected " +
                          to_string(shape));
  if (!is_floating(output.second.dtype) || (output.second.dtype == DType::kF64) != (x.dtype == DType::kF64))
    return shape_mismatch("layernorm: " + name + " is " + std::string(to_string(output.second.dtype)) + " but x is " +
                          std::string(to_string(x.dtype)) + "; f64 goes with f64 only");
  if (overlaps_itself(output.second))
    return shape_mismatch("layernorm: " + name + " has strides " + to_string(output.second.strides) +
                          " that put two elements in one place");
  return {};
}

template <class Plan>
Result<Report> run_plan(const Plan& plan, Target target, const Execution& execution) {
  QKV_ASSIGN_OR_RETURN(const int available, resolve_threads("layernorm", execution.threads));
  Report report{.target = target, .threads = plan.threads(available)};
  report.tasks = plan.tasks();
  report.flops = plan.flops();
  report.scratch_bytes = plan.scratch_bytes(report.threads);
  const WorkspaceLease scratch(execution, "layernorm", report.scratch_bytes);
  QKV_RETURN_IF_ERROR(scratch.status());
  if (!plan.run(scratch.memory(), report.threads, execution))
    return cancelled("layernorm: stopped by the caller; the result is partly written");
  return report;
}

}  // namespace

Result<Report> layernorm_forward(View<const void> x, const LayerNormWeights& weights, View<void> u,
                                 const Execution& execution) {
  QKV_RETURN_IF_ERROR(check_rank(x));
  QKV_RETURN_IF_ERROR(check_layernorm(x, weights));
  QKV_RETURN_IF_ERROR(check_output({"u", u}, x.shape, x));
  QKV_ASSIGN_OR_RETURN(const Target target, resolve_target(execution.target));
  return run_plan(LayerNormPlan(with_batch(x), weights, with_batch(u), target), target, execution);
}

Result<Report> layernorm_backward(View<const void> x, View<const void> d_u, const LayerNormWeights& weights,
                                  const LayerNormGradientViews& gradients, const Execution& execution) {
  QKV_RETURN_IF_ERROR(check_rank(x));
  QKV_RETURN_IF_ERROR(check_layernorm(x, weights));
  QKV_RETURN_IF_ERROR(check_layernorm_gradient(x, d_u));
  const Dims channels{x.shape[x.shape.rank() - 1]};
  const Named outputs[] = {{"dx", gradients.dx}, {"dgamma", gradients.dgamma}, {"dbeta", gradients.dbeta}};
  for (std::size_t i = 0; i < std::size(outputs); ++i)
    if (outputs[i].second.is_present()) QKV_RETURN_IF_ERROR(check_output(outputs[i], i == 0 ? x.shape : channels, x));
  QKV_ASSIGN_OR_RETURN(const Target target, resolve_target(execution.target));
  LayerNormGradientViews views = gradients;
  views.dx = with_batch(gradients.dx);
  return run_plan(LayerNormPlan(with_batch(x), with_batch(d_u), weights, views, target), target, execution);
}

}  // namespace qkv
