// project_forward and project_backward: check, plan, run.
#include "src/ops/project/project.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "src/core/parallel.h"
#include "src/core/staged_progress.h"
#include "src/core/status_macros.h"
#include "src/core/view_memory.h"
#include "src/core/workspace_lease.h"
#include "src/ops/project/check_project.h"
#include "src/ops/project/product.h"
#include "src/ops/project/row_passes.h"

namespace qkv {
namespace {

using Named = std::pair<const char*, View<const void>>;

Status check_matrix_rank(View<const void> x) {
  if (x.shape.rank() == 2) return {};
  return shape_mismatch("project: x [M,C] needs 2 axes, found " + std::to_string(x.shape.rank()) + ": " +
                        to_string(x.shape));
}

// f64 beside anything else would be rounded where nobody asked for it.
Status check_types(View<const void> x, const Named& other) {
  if (!other.second.is_present() || (other.second.dtype == DType::kF64) == (x.dtype == DType::kF64)) return {};
  return shape_mismatch("project: " + std::string(other.first) + " is " + std::string(to_string(other.second.dtype)) +
                        " but x is " + std::string(to_string(x.dtype)) + "; f64 goes with f64 only");
}

Status check_apart(const Named& written, const Named& other) {
  if (!memory_overlaps(written.second, other.second)) return {};
  return shape_mismatch("project: " + std::string(written.first) + " overlaps the memory of " +
                        std::string(other.first) + "; give it memory of its own");
}

struct Machine {
  Target target;
  int threads;
};

Result<Machine> machine_of(const Execution& execution) {
  QKV_ASSIGN_OR_RETURN(const Target target, resolve_target(execution.target));
  QKV_ASSIGN_OR_RETURN(const int threads, resolve_threads("project", execution.threads));
  return Machine{target, threads};
}

// Runs a ProductPlan or a ColumnSumsPlan and enters it in the report.
template <class Plan>
Status run_plan(const Plan& plan, int available, const Execution& execution, Report& report) {
  const int threads = plan.threads(available);
  const WorkspaceLease scratch(execution, "project", plan.scratch_bytes(threads));
  QKV_RETURN_IF_ERROR(scratch.status());
  if (!plan.run(scratch.memory(), threads, execution))
    return cancelled("project: stopped by the caller; the result is partly written");
  report.threads = std::max(report.threads, threads);
  report.tasks += plan.tasks();
  report.flops += plan.flops();
  report.scratch_bytes = std::max(report.scratch_bytes, plan.scratch_bytes(threads));
  return {};
}

Status check_gradients(const ProjectInputs& inputs, View<const void> d_y, const ProjectGradientViews& gradients) {
  QKV_RETURN_IF_ERROR(check_matrix_rank(inputs.x));
  QKV_ASSIGN_OR_RETURN(const ProjectShape shape, check_project(inputs.x, inputs.w, {}));
  QKV_RETURN_IF_ERROR(check_project_gradient(shape, d_y));
  QKV_RETURN_IF_ERROR(check_types(inputs.x, {"w", inputs.w}));
  QKV_RETURN_IF_ERROR(check_types(inputs.x, {"d_y", d_y}));
  const Named written[] = {{"dx", gradients.dx}, {"dw", gradients.dw}, {"db", gradients.db}};
  const Dims shapes[] = {inputs.x.shape, inputs.w.shape, Dims{shape.out}};
  for (std::size_t i = 0; i < std::size(written); ++i) {
    if (!written[i].second.is_present()) continue;
    QKV_RETURN_IF_ERROR(check_project_output(written[i].first, written[i].second, shapes[i], inputs.x));
    for (const Named& input : {Named{"x", inputs.x}, {"w", inputs.w}, {"d_y", d_y}})
      QKV_RETURN_IF_ERROR(check_apart(written[i], input));
    for (std::size_t before = 0; before < i; ++before) QKV_RETURN_IF_ERROR(check_apart(written[i], written[before]));
  }
  return {};
}

}  // namespace

Result<Report> project_forward(const ProjectInputs& inputs, View<void> y, const Execution& execution) {
  QKV_RETURN_IF_ERROR(check_matrix_rank(inputs.x));
  QKV_ASSIGN_OR_RETURN(const ProjectShape shape, check_project(inputs.x, inputs.w, inputs.b));
  QKV_RETURN_IF_ERROR(check_project_output("y", y, shape.y, inputs.x));
  for (const Named& input : {Named{"x", inputs.x}, {"w", inputs.w}, {"b", inputs.b}}) {
    QKV_RETURN_IF_ERROR(check_types(inputs.x, input));
    QKV_RETURN_IF_ERROR(check_apart({"y", y}, input));
  }
  QKV_ASSIGN_OR_RETURN(const Machine machine, machine_of(execution));
  Product product;
  product.terms[0] = {inputs.x, inputs.w};
  product.bias = inputs.b;
  product.c = y;
  Report report{.target = machine.target, .threads = 1};
  QKV_RETURN_IF_ERROR(run_plan(ProductPlan(product, machine.target), machine.threads, execution, report));
  return report;
}

Result<Report> project_backward(const ProjectInputs& inputs, View<const void> d_y,
                                const ProjectGradientViews& gradients, const Execution& execution) {
  QKV_RETURN_IF_ERROR(check_gradients(inputs, d_y, gradients));
  QKV_ASSIGN_OR_RETURN(const Machine machine, machine_of(execution));
  Product dx, dw;
  dx.terms[0] = {d_y, swap_axes(inputs.w, 0, 1)};
  dx.c = gradients.dx;
  dw.terms[0] = {swap_axes(inputs.x, 0, 1), d_y};
  dw.c = gradients.dw;
  Report report{.target = machine.target, .threads = 1};
  StagedProgress progress(execution, 3);
  for (const Product* product : {&dx, &dw}) {
    const Execution& stage = progress.next_stage();
    if (product->c.is_present())
      QKV_RETURN_IF_ERROR(run_plan(ProductPlan(*product, machine.target), machine.threads, stage, report));
  }
  if (gradients.db.is_present())
    QKV_RETURN_IF_ERROR(
        run_plan(ColumnSumsPlan(d_y, gradients.db, machine.target), machine.threads, progress.next_stage(), report));
  return report;
}

}  // namespace qkv
