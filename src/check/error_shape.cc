// Looks at the errors of a tensor axis by axis.
#include "src/check/error_shape.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

// Which entries of an axis hold an element that fails.
std::vector<bool> failing_along(const std::vector<bool>& fails, const Dims& shape, int axis) {
  std::int64_t inner = 1;
  for (int later = axis + 1; later < shape.rank(); ++later) inner *= shape[later];
  std::vector<bool> along(static_cast<std::size_t>(shape[axis]));
  for (std::size_t i = 0; i < fails.size(); ++i)
    if (fails[i]) along[static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % shape[axis])] = true;
  return along;
}

// "head 3 only", "rows from 64 on", "rows up to 3", "odd rows"; "" if most of the axis fails or no rule is seen.
std::string place_on(const std::vector<bool>& along, const std::string& one, const std::string& many) {
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < along.size(); ++i)
    if (along[i]) at.push_back(i);
  if (at.empty() || at.size() == along.size()) return "";
  if (at.size() == 1) return one + " " + std::to_string(at.front()) + " only";
  const bool is_run = at.back() - at.front() + 1 == at.size();
  if (is_run && at.back() == along.size() - 1) return many + " from " + std::to_string(at.front()) + " on";
  if (is_run && at.front() == 0) return many + " up to " + std::to_string(at.back());
  if (is_run) return many + " " + std::to_string(at.front()) + " to " + std::to_string(at.back());
  const auto all_are = [&](std::size_t rest) {
    return std::ranges::all_of(at, [rest](std::size_t i) { return i % 2 == rest; });
  };
  if (all_are(1)) return "odd " + many;
  if (all_are(0)) return "even " + many;
  return "";
}

struct AxisName {
  const char* one;
  const char* many;
};

// o dq dk dv are [B,H,T,D], lse [B,H,T], y dx [B,T,C]; the others have axes of their own.
std::vector<AxisName> axis_names(const std::string& tensor, int rank) {
  if (tensor == "dbias" || rank < 3) return {};
  if (tensor == "y" || tensor == "dx")
    return {{"batch entry", "batch entries"}, {"row", "rows"}, {"channel", "channels"}};
  const bool of_keys = tensor == "dk" || tensor == "dv" || tensor.starts_with("cache");
  return {{"batch entry", "batch entries"},
          {of_keys ? "KV head" : "head", of_keys ? "KV heads" : "heads"},
          {of_keys ? "key" : "row", of_keys ? "keys" : "rows"},
          {"channel", "channels"}};
}

// The mean of a tensor's rows, element by element of the last axis.
std::vector<double> mean_row(const Tensor& tensor) {
  const std::int64_t width = tensor.shape()[tensor.shape().rank() - 1];
  std::vector<double> mean(static_cast<std::size_t>(width));
  std::vector<double> count(mean.size());
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const double value = element_as_double(tensor.view(), i);
    if (!std::isfinite(value)) continue;
    mean[static_cast<std::size_t>(i % width)] += value;
    count[static_cast<std::size_t>(i % width)] += 1;
  }
  for (std::size_t c = 0; c < mean.size(); ++c) mean[c] /= std::max(1.0, count[c]);
  return mean;
}

double correlation_of(const Tensor& got, const Tensor& want) {
  const std::vector<double> mean_got = mean_row(got);
  const std::vector<double> mean_want = mean_row(want);
  const auto width = static_cast<std::int64_t>(mean_got.size());
  double xx = 0, yy = 0, xy = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double x = element_as_double(got.view(), i) - mean_got[static_cast<std::size_t>(i % width)];
    const double y = element_as_double(want.view(), i) - mean_want[static_cast<std::size_t>(i % width)];
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    xx += x * x;
    yy += y * y;
    xy += x * y;
  }
  return xy / std::sqrt(xx * yy);
}

}  // namespace

ErrorShape shape_of_error(const TensorVerdict& verdict, const Tensor& got, const Tensor& want) {
  ErrorShape shape;
  const Comparison& comparison = verdict.comparison;
  shape.bounds =
      std::isfinite(comparison.error) ? comparison.error / comparison.bound : std::numeric_limits<double>::infinity();
  if (got.size() == 0) return shape;
  shape.correlation = correlation_of(got, want);
  std::vector<bool> fails(static_cast<std::size_t>(got.size()));
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double x = element_as_double(got.view(), i);
    const double y = element_as_double(want.view(), i);
    const bool same = x == y || (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= verdict.bound.at(y);
    fails[static_cast<std::size_t>(i)] = !same;
  }
  const std::vector<AxisName> names = axis_names(verdict.name, got.shape().rank());
  for (int axis = 0; axis < std::min<int>(got.shape().rank(), static_cast<int>(names.size())); ++axis) {
    const AxisName& name = names[static_cast<std::size_t>(axis)];
    std::string place = place_on(failing_along(fails, got.shape(), axis), name.one, name.many);
    if (!place.empty()) shape.places.push_back(std::move(place));
  }
  return shape;
}

Result<Leak> first_leak(Subject& subject, const Problem& problem) {
  if (is_layer(problem)) return Leak();  // its values are computed from what its scores are
  Problem weights = problem;
  weights.value_width = weights.key_length;
  weights.backward = weights.dlse = false;
  QKV_ASSIGN_OR_RETURN(Case asked, generate(weights));
  QKV_ASSIGN_OR_RETURN(Tensor identity, Tensor::zeros(DType::kF64, asked.v.view.shape));
  const std::int64_t keys = weights.key_length;
  for (std::int64_t i = 0; i < identity.size(); ++i) identity.data<double>()[i] = i % keys == i / keys % keys ? 1 : 0;
  QKV_ASSIGN_OR_RETURN(const Tensor narrow, converted(identity.view(), weights.dtype));
  QKV_ASSIGN_OR_RETURN(asked.v, place(narrow.view(), {.layout = weights.layout}));
  QKV_ASSIGN_OR_RETURN(const VariantResult want, compute_variant(asked.inputs(), asked.options(), {}, {}, {}));
  QKV_ASSIGN_OR_RETURN(SubjectAnswer answer, subject.run(asked));
  Leak leak;
  if (answer.end != SubjectEnd::kAnswered || !(answer.outputs.o.shape() == want.o.shape())) return leak;
  leak.weights = std::move(answer.outputs.o);
  for (std::int64_t at = 0; at < want.o.size() && !leak.found; ++at) {
    const double weight = element_as_double(leak.weights.view(), at);
    if (want.o.data<double>()[at] != 0 || weight == 0) continue;
    const std::int64_t row = at / keys;
    leak.found = true;
    leak.b = row / weights.query_length / weights.query_heads;
    leak.h = row / weights.query_length % weights.query_heads;
    leak.i = row % weights.query_length;
    leak.j = at % keys;
    leak.weight = weight;
  }
  return leak;
}

}  // namespace qkv::check
