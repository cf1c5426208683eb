// The fused projection of a layer alone: [B·T, C] times [C, (Hq + 2 Hkv)·D].
#include <algorithm>
#include <utility>

#include "bench/layer_tensors.h"
#include "bench/subjects.h"
#include "src/check/bounds.h"
#include "src/check/plain_layer.h"
#include "src/core/status_macros.h"
#include "src/ops/project/project.h"

namespace qkv::bench {
namespace {

constexpr std::int64_t kRows = 24;  // of the result that are checked: the first and the last of them

View<const void> rows_of(View<const void> view, std::int64_t first, std::int64_t count) {
  const std::int64_t offset = first * view.strides[0];
  view.data = static_cast<const char*>(view.data) + offset * static_cast<std::int64_t>(size_of(view.dtype));
  view.shape[0] = count;
  return view;
}

class ProjectSubject : public Subject {
 public:
  Status make(const Problem& problem) {
    QKV_ASSIGN_OR_RETURN(tensors_, make_layer(problem));
    const std::int64_t rows = problem.batch * problem.query_length;
    QKV_ASSIGN_OR_RETURN(y_, Tensor::zeros(problem.dtype, {rows, tensors_.wqkv.shape()[1]}));
    const View<const void> x = std::as_const(tensors_).x.view();
    inputs_.x = View<const void>(x.data, x.dtype, {rows, x.shape[2]});
    inputs_.w = std::as_const(tensors_).wqkv.view();
    inputs_.b = std::as_const(tensors_).bqkv.view();
    return {};
  }

  Result<Check> check(const Execution& execution) override {
    QKV_RETURN_IF_ERROR(call(execution).status());
    const std::int64_t rows = y_.shape()[0], count = std::min(kRows, rows);
    Check found;
    found.of_rows = rows;
    for (std::int64_t first : {std::int64_t{0}, rows - count}) {
      const View<const void> x = rows_of(inputs_.x, first, count);
      QKV_ASSIGN_OR_RETURN(const Tensor want, reference::project_forward(x, inputs_.w, inputs_.b));
      QKV_ASSIGN_OR_RETURN(const Tensor plain, check::plain_project_forward(x, inputs_.w, inputs_.b, y_.dtype()));
      QKV_ASSIGN_OR_RETURN(const check::Comparison yardstick, check::compare(plain.view(), want.view(), {}));
      QKV_ASSIGN_OR_RETURN(const check::Comparison comparison,
                           check::compare(rows_of(std::as_const(y_).view(), first, count), want.view(),
                                          check::forward_bound(y_.dtype(), yardstick.largest_error, kLargest)));
      found.rows += count;
      found.largest_error = std::max(found.largest_error, comparison.largest_error);
      if (found.failure.empty() && !comparison.passed) found.failure = to_string(comparison);
    }
    return found;
  }

  Result<Report> call(const Execution& execution) override { return project_forward(inputs_, y_.view(), execution); }

 private:
  static constexpr double kLargest = 4;  // of results that are N(0,1)

  LayerTensors tensors_;
  Tensor y_;
  ProjectInputs inputs_;
};

}  // namespace

Result<std::unique_ptr<Subject>> make_project_subject(const Problem& problem) {
  auto subject = std::make_unique<ProjectSubject>();
  QKV_RETURN_IF_ERROR(subject->make(problem));
  return std::unique_ptr<Subject>(std::move(subject));
}

}  // namespace qkv::bench
