// A whole layer, forward or forward and backward.
#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/layer_tensors.h"
#include "bench/subjects.h"
#include "src/check/bounds.h"
#include "src/check/plain_layer.h"
#include "src/core/status_macros.h"

namespace qkv::bench {
namespace {

constexpr std::int64_t kShortened = 48;  // tokens of the check: the reference needs a second for more

double largest_of(const Tensor& tensor) {
  double largest = 0;
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    largest = std::max(largest, std::fabs(element_as_double(tensor.view(), i)));
  return largest;
}

// Holds one tensor to float64, with the plain computation's own error as the
// yardstick.
Status judge_one(const char* name, View<const void> got, const Tensor& plain, const Tensor& want, bool is_gradient,
                 Check& found) {
  QKV_ASSIGN_OR_RETURN(const check::Comparison yardstick, check::compare(plain.view(), want.view(), {}));
  const double largest = largest_of(want);
  const check::Bound bound = is_gradient ? check::gradient_bound(got.dtype, yardstick.largest_error, largest)
                                         : check::forward_bound(got.dtype, yardstick.largest_error, largest);
  QKV_ASSIGN_OR_RETURN(const check::Comparison comparison, check::compare(got, want.view(), bound));
  found.largest_error = std::max(found.largest_error, comparison.largest_error);
  if (found.failure.empty() && !comparison.passed) found.failure = std::string(name) + ": " + to_string(comparison);
  return {};
}

class LayerSubject : public Subject {
 public:
  LayerSubject(const Problem& problem, bool with_backward) : problem_(problem), with_backward_(with_backward) {}

  Status make() {
    QKV_ASSIGN_OR_RETURN(tensors_, make_layer(problem_));
    options_ = layer_options(problem_);
    parameters_ = tensors_.parameters();
    gradients_ = tensors_.gradients();
    if (with_backward_) kept_ = tensors_.kept();
    return {};
  }

  // On the first tokens of one batch entry: the weights are those that are
  // timed.
  Result<Check> check(const Execution& execution) override {
    Problem small = problem_;
    small.batch = 1;
    small.query_length = small.key_length = std::min(problem_.query_length, kShortened);
    QKV_ASSIGN_OR_RETURN(LayerTensors t, make_layer(small));
    Check found;
    found.rows = small.query_length;
    found.of_rows = problem_.batch * problem_.query_length;
    const LayerParameters parameters = t.parameters();
    QKV_RETURN_IF_ERROR(layer_forward(t.x.view(), parameters, t.y.view(), options_, execution, t.kept()).status());
    QKV_ASSIGN_OR_RETURN(const Tensor want, reference::layer_forward(t.x.view(), parameters, options_));
    QKV_ASSIGN_OR_RETURN(const Tensor plain, check::plain_layer_forward(t.x.view(), parameters, options_));
    QKV_RETURN_IF_ERROR(judge_one("y", t.y.view(), plain, want, false, found));
    if (with_backward_) QKV_RETURN_IF_ERROR(check_gradients(t, execution, found));
    return found;
  }

  Result<Report> call(const Execution& execution) override {
    const View<const void> x = std::as_const(tensors_).x.view();
    QKV_ASSIGN_OR_RETURN(Report report, layer_forward(x, parameters_, tensors_.y.view(), options_, execution, kept_));
    if (!with_backward_) return report;
    QKV_ASSIGN_OR_RETURN(const Report backward, layer_backward(x, parameters_, std::as_const(tensors_).d_y.view(),
                                                               gradients_, options_, execution, kept_));
    report.flops += backward.flops;
    return report;
  }

 private:
  Status check_gradients(LayerTensors& t, const Execution& execution, Check& found) const {
    const LayerParameters parameters = t.parameters();
    QKV_RETURN_IF_ERROR(
        layer_backward(t.x.view(), parameters, t.d_y.view(), t.gradients(), options_, execution, t.kept()).status());
    QKV_ASSIGN_OR_RETURN(const reference::LayerGradients want,
                         reference::layer_backward(t.x.view(), parameters, t.d_y.view(), options_));
    QKV_ASSIGN_OR_RETURN(const reference::LayerGradients plain,
                         check::plain_layer_backward(t.x.view(), parameters, t.d_y.view(), options_));
    QKV_RETURN_IF_ERROR(judge_one("dx", t.dx.view(), plain.dx, want.dx, true, found));
    QKV_RETURN_IF_ERROR(judge_one("dgamma", t.dgamma.view(), plain.dgamma, want.dgamma, true, found));
    QKV_RETURN_IF_ERROR(judge_one("dwo", t.dwo.view(), plain.dwo, want.dwo, true, found));
    // The reference takes the fused matrix apart; its first columns are wq's.
    View<void> dwq = t.dwqkv.view();
    dwq.shape[1] = want.dwq.shape()[1];
    return judge_one("dwq", dwq, plain.dwq, want.dwq, true, found);
  }

  const Problem problem_;
  const bool with_backward_;
  LayerTensors tensors_;
  LayerParameters parameters_;  // views, made once
  LayerGradientViews gradients_;
  LayerKept kept_;  // absent where no gradient follows
  LayerOptions options_;
};

}  // namespace

Result<std::unique_ptr<Subject>> make_layer_subject(const Problem& problem, bool with_backward) {
  auto subject = std::make_unique<LayerSubject>(problem, with_backward);
  QKV_RETURN_IF_ERROR(subject->make());
  return std::unique_ptr<Subject>(std::move(subject));
}

}  // namespace qkv::bench
