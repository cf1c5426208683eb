// One rounding, up or down.
#include "src/check/condition.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "src/check/bounds.h"
#include "src/check/variant_cache.h"
#include "src/check/variant_layer.h"
#include "src/core/random.h"
#include "src/core/status_macros.h"

namespace qkv::check {

namespace {

// Moves one number after the other.
class Nudge {
 public:
  Nudge(DType dtype, std::uint64_t draw)
      : type_(dtype == DType::kF64 ? DType::kF64 : DType::kF32), coins_(draw, kStream) {}
  double operator()(double x) {
    const double rounding = std::isfinite(x) ? ulp(type_, std::fabs(x)) / 2 : 0;
    return coins_.uniform(next_++) < 0.5 ? x - rounding : x + rounding;
  }

 private:
  static constexpr std::uint64_t kStream = 1;
  DType type_;
  RandomStream coins_;
  std::uint64_t next_ = 0;
};

// With the strides of q, and its memory between the elements: a mistake may read them. Where they lie far apart the
// memory is left out.
Result<Placed> nudged(const Placed& q, std::uint64_t draw) {
  constexpr std::int64_t kFarApart = 16;
  Nudge nudge(q.view.dtype, draw);
  std::int64_t size = element_count(q.view.shape) > 0 ? 1 : 0;
  for (int axis = 0; size > 0 && axis < q.view.shape.rank(); ++axis)
    size += (q.view.shape[axis] - 1) * q.view.strides[axis];
  Placed moved;
  if (size > kFarApart * element_count(q.view.shape)) {
    QKV_ASSIGN_OR_RETURN(moved.memory, converted(q.view, DType::kF64));
    std::transform(moved.memory.data<double>(), moved.memory.data<double>() + moved.memory.size(),
                   moved.memory.data<double>(), nudge);
    moved.view = moved.memory.view();
    return moved;
  }
  QKV_ASSIGN_OR_RETURN(moved.memory, Tensor::zeros(DType::kF64, {size}));
  for (std::int64_t i = 0; i < size; ++i) moved.memory.data<double>()[i] = nudge(element_as_double(q.view, i));
  moved.view = View<void>(moved.memory.data<void>(), DType::kF64, q.view.shape, q.view.strides);
  return moved;
}

std::vector<double> nudged(const std::vector<double>& sinks, DType dtype, std::uint64_t draw) {
  std::vector<double> moved;
  std::ranges::transform(sinks, std::back_inserter(moved), Nudge(dtype, draw));
  return moved;
}

// What a layer is given is x.
Result<VariantResult> nudged_layer(const Case& asked, std::span<const Mistake> mistakes, std::uint64_t draw) {
  QKV_ASSIGN_OR_RETURN(const Placed x, nudged(asked.layer.x, draw));
  LayerGiven given = asked.layer_given();
  given.x = x.view;
  VariantResult result;
  QKV_ASSIGN_OR_RETURN(result.layer, compute_layer_variant(given, mistakes));
  return result;
}

}  // namespace

Result<VariantResult> nudged_variant(const Case& asked, std::span<const Mistake> mistakes, std::uint64_t draw) {
  if (is_layer(asked.problem)) return nudged_layer(asked, mistakes, draw);
  QKV_ASSIGN_OR_RETURN(const Placed q, nudged(asked.q, draw));
  const std::vector<double> sinks = nudged(asked.sinks, asked.problem.dtype, draw);
  if (asked.problem.operation == Operation::kDecode) return compute_decode_variant(asked, q.view, sinks, mistakes);
  AttentionOptions options = asked.options();
  options.sinks = sinks;
  return compute_variant({q.view, asked.k.view, asked.v.view}, options, asked.d_o.view, asked.d_lse.view, mistakes);
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(element_as_double(a.view(), i) - element_as_double(b.view(), i));
    if (std::isfinite(difference)) largest = std::max(largest, difference);
  }
  return largest;
}

}  // namespace qkv::check
