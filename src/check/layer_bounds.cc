// The plain layer and the reference side by side.
#include "src/check/layer_bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "src/check/plain_layer.h"
#include "src/check/variant_layer.h"
#include "src/check/variant_packing.h"
#include "src/core/check_layer.h"
#include "src/core/random.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

Result<LayerOutputs> plain_norm(const LayerGiven& given) {
  const reference::LayerNormParameters parameters{given.parameters.gamma, given.parameters.beta, given.options.eps};
  LayerOutputs out;
  QKV_ASSIGN_OR_RETURN(out.y, plain_layernorm_forward(given.x, parameters, given.x.dtype));
  if (!given.d_y.is_present()) return out;
  QKV_ASSIGN_OR_RETURN(reference::LayerNormGradients gradients,
                       plain_layernorm_backward(given.x, given.d_y, parameters, given.x.dtype));
  out.dx = std::move(gradients.dx);
  out.dgamma = std::move(gradients.dgamma);
  out.dbeta = std::move(gradients.dbeta);
  return out;
}

Result<LayerOutputs> plain_layer(const LayerGiven& given) {
  LayerOutputs out;
  QKV_ASSIGN_OR_RETURN(out.y, plain_layer_forward(given.x, given.parameters, given.options));
  if (!given.d_y.is_present()) return out;
  QKV_ASSIGN_OR_RETURN(reference::LayerGradients g,
                       plain_layer_backward(given.x, given.parameters, given.d_y, given.options));
  if (given.parameters.wqkv.is_present()) {
    QKV_ASSIGN_OR_RETURN(const LayerShape shape, check_layer(given.x, given.parameters, given.options));
    const PackedColumns columns = packed_columns(shape, MistakeSet({}));
    QKV_ASSIGN_OR_RETURN(out.dwqkv, packed(columns, {&g.dwq, &g.dwk, &g.dwv}, given.parameters.wqkv));
    if (given.parameters.bqkv.is_present()) {
      QKV_ASSIGN_OR_RETURN(out.dbqkv, packed(columns, {&g.dbq, &g.dbk, &g.dbv}, given.parameters.bqkv));
    }
  }
  out.dx = std::move(g.dx);
  out.dgamma = std::move(g.dgamma);
  out.dbeta = std::move(g.dbeta);
  out.dwq = std::move(g.dwq);
  out.dwk = std::move(g.dwk);
  out.dwv = std::move(g.dwv);
  out.dbq = std::move(g.dbq);
  out.dbk = std::move(g.dbk);
  out.dbv = std::move(g.dbv);
  out.dwo = std::move(g.dwo);
  out.dbo = std::move(g.dbo);
  return out;
}

// The error of the plain computation depends on how its roundings fall, and the largest of few elements is no
// yardstick: it is taken over several draws, x off by up to a thousandth in each but the first.
Result<Tensor> drawn_input(View<const void> x, std::uint64_t draw) {
  constexpr double kOff = 1e-3;
  QKV_ASSIGN_OR_RETURN(Tensor moved, converted(x, DType::kF64));
  const RandomStream random(draw, 1);
  for (std::int64_t i = 0; draw > 0 && i < moved.size(); ++i)
    moved.data<double>()[i] *= 1 + kOff * (2 * random.uniform(static_cast<std::uint64_t>(i)) - 1);
  return converted(moved.view(), x.dtype);
}

struct Yardstick {
  double error = 0, size = 0;
};

}  // namespace

Result<std::vector<NamedBound>> layer_bounds(const Case& asked) {
  constexpr std::uint64_t kDraws = 4;
  std::array<Yardstick, kLayerOutputs.size()> yardsticks;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    QKV_ASSIGN_OR_RETURN(const Tensor x, drawn_input(asked.layer.x.view, draw));
    LayerGiven given = asked.layer_given();
    given.x = x.view();
    QKV_ASSIGN_OR_RETURN(const LayerOutputs want, compute_layer_variant(given, {}));
    const bool is_norm = given.operation == Operation::kLayerNorm;
    QKV_ASSIGN_OR_RETURN(const LayerOutputs plain, is_norm ? plain_norm(given) : plain_layer(given));
    for (std::size_t i = 0; i < kLayerOutputs.size(); ++i) {
      const Tensor& right = want.*kLayerOutputs[i].member;
      const Tensor& near = plain.*kLayerOutputs[i].member;
      if (!right.is_present() || !near.is_present()) continue;
      QKV_ASSIGN_OR_RETURN(const Comparison apart, compare(near.view(), right.view(), {}));
      if (std::isfinite(apart.largest_error)) yardsticks[i].error = std::max(yardsticks[i].error, apart.largest_error);
      yardsticks[i].size = std::max(yardsticks[i].size, largest_finite(right));
    }
  }
  std::vector<NamedBound> bounds;
  const DType dtype = asked.problem.dtype;
  for (std::size_t i = 0; i < kLayerOutputs.size(); ++i) {
    const auto [error, size] = yardsticks[i];
    const bool is_result = kLayerOutputs[i].member == &LayerOutputs::y;
    bounds.push_back(
        {kLayerOutputs[i].name, is_result ? forward_bound(dtype, error, size) : gradient_bound(dtype, error, size)});
  }
  return bounds;
}

}  // namespace qkv::check
