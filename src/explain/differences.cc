// Central differences of the loss.
#include "src/explain/differences.h"

#include <algorithm>
#include <cmath>

#include "src/core/status_macros.h"

namespace qkv {
namespace {

// An input that can be moved: its values, and the stage that claims to be its gradient.
struct Movable {
  std::string input;
  std::vector<double>* values;
  const Stage* gradient;
};

std::vector<Movable> movables(Request& request, const Trace& trace) {
  std::vector<Movable> all;
  const auto add = [&](const std::string& input, std::vector<double>& values) {
    const Stage* gradient = trace.find("d" + input);
    if (gradient != nullptr && gradient->values.size() == static_cast<std::int64_t>(values.size()))
      all.push_back({input, &values, gradient});
  };
  // In the order in which a reader meets them.
  for (const char* input :
       {"x", "gamma", "beta", "wq", "bq", "wk", "bk", "wv", "bv", "wo", "bo", "q", "k", "v", "bias"})
    if (const auto found = request.tensors.find(input); found != request.tensors.end())
      add(found->first, found->second.values);
  if (!request.lists.sinks.empty()) add("sinks", request.lists.sinks);
  return all;
}

double last(const Numbers* numbers) { return static_cast<double>(numbers->shape[numbers->shape.rank() - 1]); }

// Multiplications of one forward pass, roughly.
double work_of_forward(const Request& request, const Trace& trace) {
  const Stage* q = trace.find("q");
  const Stage* k = trace.find("k");
  const Stage* v = trace.find("v");
  if (q == nullptr || k == nullptr || v == nullptr) return 0;
  const double pairs = static_cast<double>(q->values.shape()[1]) * static_cast<double>(q->values.shape()[2]) *
                       static_cast<double>(k->values.shape()[2]);
  double work = pairs * static_cast<double>(q->values.shape()[3] + v->values.shape()[3]);
  const Numbers* x = request.find("x");
  for (const char* name : {"wq", "wk", "wv", "wqkv", "wo"})
    if (const Numbers* weights = request.find(name); weights != nullptr && x != nullptr)
      work += static_cast<double>(x->values.size()) * last(weights);
  return work;
}

Result<double> difference(double& entry, double step, const Computation& computation) {
  const double before = entry;
  entry = before + step;
  Result<double> above = computation.loss();
  entry = before - step;
  Result<double> below = computation.loss();
  entry = before;
  if (!above.is_ok()) return above.status();
  if (!below.is_ok()) return below.status();
  return (*above - *below) / (2 * step);
}

// The differences of every entry of one input.
Result<Difference> differences_of(const Movable& movable, double step, const Computation& computation) {
  Difference result;
  result.gradient = "d" + movable.input;
  result.input = movable.input;
  result.values.shape = movable.gradient->values.shape();
  const double* exact = movable.gradient->values.data<double>();
  for (std::size_t i = 0; i < movable.values->size(); ++i) {
    QKV_ASSIGN_OR_RETURN(const double value, difference((*movable.values)[i], step, computation));
    result.values.values.push_back(value);
    const double error = std::abs(value - exact[i]);
    if (!(error <= result.max_error)) result.max_error = error;  // so that a NaN is kept
  }
  return result;
}

Status sweep_steps(const std::vector<double>& steps, const std::vector<Movable>& all, const Computation& computation,
                   Differences& out) {
  for (const double step : steps) {
    SweepStep swept;
    swept.step = step;
    for (const Movable& movable : all) {
      QKV_ASSIGN_OR_RETURN(const Difference result, differences_of(movable, step, computation));
      swept.max_errors.emplace_back(result.gradient, result.max_error);
    }
    out.sweep.push_back(std::move(swept));
  }
  return {};
}

}  // namespace

Result<Differences> central_differences(Request& request, const Computation& computation, const Trace& trace) {
  Differences out;
  QKV_ASSIGN_OR_RETURN(out.loss, computation.loss());
  const std::vector<Movable> all = movables(request, trace);
  double entries = 0;
  for (const Movable& movable : all) entries += static_cast<double>(movable.values->size());
  const double work = 2 * entries * work_of_forward(request, trace);
  if (work > kMostWork) return out;
  out.computed = true;
  for (const Movable& movable : all) {
    QKV_ASSIGN_OR_RETURN(Difference result, differences_of(movable, request.step, computation));
    out.gradients.push_back(std::move(result));
  }
  if (work * static_cast<double>(request.steps.size()) > kMostWork) return out;
  QKV_RETURN_IF_ERROR(sweep_steps(request.steps, all, computation, out));
  return out;
}

}  // namespace qkv
