// Random parameters, one stream a tensor.
#include "src/check/layer_tensors.h"

#include <cmath>
#include <cstdint>

#include "src/core/random.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

// After the streams of generate.cc: one number a tensor, for good.
constexpr std::uint64_t kFirstStream = 100;

class Generator {
 public:
  Generator(const Problem& problem, const Placement& placement) : problem_(problem), placement_(placement) {}

  // offset + factor · N(0,1).
  Status fill(Placed LayerTensors::* member, const Dims& shape, double factor = 1, double offset = 0) {
    const RandomStream values(problem_.seed, kFirstStream + index_of(member));
    QKV_ASSIGN_OR_RETURN(Tensor exact, Tensor::zeros(DType::kF64, shape));
    for (std::int64_t i = 0; i < exact.size(); ++i)
      exact.data<double>()[i] = offset + factor * values.normal(static_cast<std::uint64_t>(i));
    QKV_ASSIGN_OR_RETURN(const Tensor rounded, converted(exact.view(), problem_.dtype));
    QKV_ASSIGN_OR_RETURN(made_.*member, place(rounded.view(), placement_));
    return {};
  }

  Status matrix(Placed LayerTensors::* weight, Placed LayerTensors::* bias, std::int64_t in, std::int64_t out) {
    QKV_RETURN_IF_ERROR(fill(weight, {in, out}, 1 / std::sqrt(static_cast<double>(in))));
    return problem_.layer.biases ? fill(bias, {out}) : Status();
  }

  LayerTensors take() { return std::move(made_); }

 private:
  static std::uint64_t index_of(Placed LayerTensors::* member) {
    std::uint64_t index = 0;
    while (kLayerTensors[index].member != member) ++index;
    return index;
  }

  const Problem& problem_;
  const Placement& placement_;
  LayerTensors made_;
};

}  // namespace

Dims layer_output_shape(const Problem& problem) {
  const LayerWords& layer = problem.layer;
  std::int64_t width = layer.channels;
  if (problem.operation == Operation::kLayer)
    width = layer.out_channels != 0 ? layer.out_channels : problem.query_heads * problem.value_width;
  return {problem.batch, problem.query_length, width};
}

Result<LayerTensors> generate_layer(const Problem& problem, const Placement& placement) {
  const LayerWords& layer = problem.layer;
  const std::int64_t channels = layer.channels;
  Generator made(problem, placement);
  QKV_RETURN_IF_ERROR(
      made.fill(&LayerTensors::x, {problem.batch, problem.query_length, channels}, layer.spread, layer.shift));
  if (layer.norm) {
    QKV_RETURN_IF_ERROR(made.fill(&LayerTensors::gamma, {channels}, 0.25, 1));
    QKV_RETURN_IF_ERROR(made.fill(&LayerTensors::beta, {channels}));
  }
  if (problem.backward) QKV_RETURN_IF_ERROR(made.fill(&LayerTensors::d_y, layer_output_shape(problem)));
  if (problem.operation == Operation::kLayerNorm) return made.take();
  const std::int64_t q = problem.query_heads * problem.width;
  const std::int64_t k = problem.kv_heads * problem.width;
  const std::int64_t v = problem.kv_heads * problem.value_width;
  if (layer.fused) {
    QKV_RETURN_IF_ERROR(made.matrix(&LayerTensors::wqkv, &LayerTensors::bqkv, channels, q + k + v));
  } else {
    QKV_RETURN_IF_ERROR(made.matrix(&LayerTensors::wq, &LayerTensors::bq, channels, q));
    QKV_RETURN_IF_ERROR(made.matrix(&LayerTensors::wk, &LayerTensors::bk, channels, k));
    QKV_RETURN_IF_ERROR(made.matrix(&LayerTensors::wv, &LayerTensors::bv, channels, v));
  }
  if (layer.out_channels != 0)
    QKV_RETURN_IF_ERROR(made.matrix(&LayerTensors::wo, &LayerTensors::bo, problem.query_heads * problem.value_width,
                                    layer.out_channels));
  return made.take();
}

}  // namespace qkv::check
