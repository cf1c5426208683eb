// Tensors refilled and compared; one question.
#include "src/check/invariant_asker.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/check/bounds.h"
#include "src/core/status_macros.h"

namespace qkv::check {

Result<Placed> refilled(const Placed& old, Layout layout, const Values& values) {
  const Dims& shape = old.view.shape;
  QKV_ASSIGN_OR_RETURN(Tensor wide, Tensor::zeros(DType::kF64, shape));
  std::int64_t extent[kMaxRank] = {1, 1, 1, 1};
  for (int axis = 0; axis < shape.rank(); ++axis) extent[kMaxRank - shape.rank() + axis] = shape[axis];
  double* next = wide.data<double>();
  for (std::int64_t a = 0; a < extent[0]; ++a)
    for (std::int64_t b = 0; b < extent[1]; ++b)
      for (std::int64_t c = 0; c < extent[2]; ++c)
        for (std::int64_t d = 0; d < extent[3]; ++d) *next++ = values(a, b, c, d);
  if (old.view.dtype == DType::kBool) {
    QKV_ASSIGN_OR_RETURN(Tensor flags, Tensor::zeros(DType::kBool, shape));
    std::transform(wide.data<double>(), wide.data<double>() + wide.size(), flags.data<bool>(),
                   [](double x) { return x != 0; });
    return place(flags.view(), {.layout = layout});
  }
  QKV_ASSIGN_OR_RETURN(const Tensor narrow, converted(wide.view(), old.view.dtype));
  return place(narrow.view(), {.layout = layout});
}

Values values_of(const Placed& placed) {
  const View<void> view = placed.view;
  return [view](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    const std::int64_t index[kMaxRank] = {a, b, c, d};
    std::int64_t offset = 0;
    for (int axis = 0; axis < view.shape.rank(); ++axis)
      offset += index[kMaxRank - view.shape.rank() + axis] * view.strides[axis];
    return element_as_double(view, offset);
  };
}

double difference(const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape())) return kNan;
  double most = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = element_as_double(a.view(), i);
    const double y = element_as_double(b.view(), i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x == y) continue;
    if (!std::isfinite(x - y)) return kNan;
    most = std::max(most, std::fabs(x - y));
  }
  return most;
}

void grow(double& most, double value) {
  if (!(value <= most)) most = std::isnan(most) ? most : value;
}

Problem Asker::problem() const {
  constexpr std::uint64_t kSeed = 300;
  Problem first = first_probe(options_);
  first.seed += kSeed;
  return first;
}

Result<std::optional<SubjectOutputs>> Asker::ask(const Case& asked) const {
  QKV_ASSIGN_OR_RETURN(SubjectAnswer answer, subject_.run(asked));
  if (answer.end != SubjectEnd::kAnswered || !main_output(answer.outputs).is_present())
    return std::optional<SubjectOutputs>();
  return std::optional<SubjectOutputs>(std::move(answer.outputs));
}

Result<std::optional<Asker::Two>> Asker::ask_both(const Case& one, const Case& other) const {
  QKV_ASSIGN_OR_RETURN(auto first, ask(one));
  QKV_ASSIGN_OR_RETURN(auto second, ask(other));
  if (!first || !second) return std::optional<Two>();
  return std::optional(Two{std::move(*first), std::move(*second)});
}

Status Asker::expect_same(const Case& one, const Case& other, Invariant& found) const {
  QKV_ASSIGN_OR_RETURN(const auto both, ask_both(one, other));
  if (!both) return {};
  found.was_asked = true;
  found.deviation = difference(both->one.o, both->other.o);
  return {};
}

double Asker::bound() const { return 64 * ulp(options_.dtype, 4); }

}  // namespace qkv::check
