// Numbers from the same streams as the checks', one stream a tensor.
#include "bench/layer_tensors.h"

#include <cmath>

#include "src/core/random.h"
#include "src/core/status_macros.h"

namespace qkv::bench {
namespace {

enum Stream : std::uint64_t { kX = 101, kDy, kGamma, kBeta, kWqkv, kBqkv, kWo, kBo };

// middle + scale · N(0,1), rounded once.
Result<Tensor> normal(const Problem& problem, Stream stream, const Dims& shape, double scale, double middle = 0) {
  const RandomStream values(problem.seed, stream);
  QKV_ASSIGN_OR_RETURN(Tensor exact, Tensor::zeros(DType::kF64, shape));
  for (std::int64_t i = 0; i < exact.size(); ++i)
    exact.data<double>()[i] = middle + scale * values.normal(static_cast<std::uint64_t>(i));
  return converted(exact.view(), problem.dtype);
}

Status check_problem(const Problem& p) {
  if (p.query_length != p.key_length) return invalid_argument("layer: T must be one number; x has one length");
  if (p.width != p.value_width) return invalid_argument("layer: D must be one number; the fused projection has one");
  if (p.keep || p.bias || p.key_mask || p.slopes || p.sinks || !p.key_lengths.empty() || !p.cu_seqlens_q.empty())
    return invalid_argument(
        "layer: masks, biases, slopes, sinks, lengths and packed sequences are not part of the pass");
  return {};
}

Status make_gradients(const Problem& problem, LayerTensors& t) {
  struct Pair {
    Tensor& gradient;
    const Tensor& of;
  };
  for (const Pair& pair : {Pair{t.dx, t.x}, Pair{t.dgamma, t.gamma}, Pair{t.dbeta, t.beta}, Pair{t.dwqkv, t.wqkv},
                           Pair{t.dbqkv, t.bqkv}, Pair{t.dwo, t.wo}, Pair{t.dbo, t.bo}}) {
    QKV_ASSIGN_OR_RETURN(pair.gradient, Tensor::zeros(problem.dtype, pair.of.shape()));
  }
  const DType exact = problem.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  QKV_ASSIGN_OR_RETURN(t.qkv, Tensor::zeros(problem.dtype, {problem.batch, problem.query_length, t.wqkv.shape()[1]}));
  QKV_ASSIGN_OR_RETURN(t.o, Tensor::zeros(exact, t.x.shape()));
  QKV_ASSIGN_OR_RETURN(t.lse, Tensor::zeros(exact, {problem.batch, problem.query_heads, problem.query_length}));
  return {};
}

}  // namespace

LayerParameters LayerTensors::parameters() const {
  LayerParameters parameters;
  parameters.gamma = gamma.view();
  parameters.beta = beta.view();
  parameters.wqkv = wqkv.view();
  parameters.bqkv = bqkv.view();
  parameters.wo = wo.view();
  parameters.bo = bo.view();
  return parameters;
}

LayerGradientViews LayerTensors::gradients() {
  LayerGradientViews views;
  views.dx = dx.view();
  views.dgamma = dgamma.view();
  views.dbeta = dbeta.view();
  views.dwqkv = dwqkv.view();
  views.dbqkv = dbqkv.view();
  views.dwo = dwo.view();
  views.dbo = dbo.view();
  return views;
}

Result<LayerTensors> make_layer(const Problem& problem) {
  QKV_RETURN_IF_ERROR(check_problem(problem));
  const std::int64_t width = problem.query_heads * problem.width;  // C
  const std::int64_t fused = (problem.query_heads + 2 * problem.kv_heads) * problem.width;
  const double weight = 1 / std::sqrt(static_cast<double>(width));
  const Dims activations{problem.batch, problem.query_length, width};
  LayerTensors t;
  QKV_ASSIGN_OR_RETURN(t.x, normal(problem, kX, activations, 1));
  QKV_ASSIGN_OR_RETURN(t.d_y, normal(problem, kDy, activations, 1));
  QKV_ASSIGN_OR_RETURN(t.y, Tensor::zeros(problem.dtype, activations));
  QKV_ASSIGN_OR_RETURN(t.gamma, normal(problem, kGamma, {width}, 0.1, 1));
  QKV_ASSIGN_OR_RETURN(t.beta, normal(problem, kBeta, {width}, 0.1));
  QKV_ASSIGN_OR_RETURN(t.wqkv, normal(problem, kWqkv, {width, fused}, weight));
  QKV_ASSIGN_OR_RETURN(t.bqkv, normal(problem, kBqkv, {fused}, 0.1));
  QKV_ASSIGN_OR_RETURN(t.wo, normal(problem, kWo, {width, width}, weight));
  QKV_ASSIGN_OR_RETURN(t.bo, normal(problem, kBo, {width}, 0.1));
  QKV_RETURN_IF_ERROR(make_gradients(problem, t));
  return t;
}

LayerOptions layer_options(const Problem& problem) {
  LayerOptions options;
  options.query_heads = problem.query_heads;
  options.kv_heads = problem.kv_heads;
  options.attention.scale = problem.scale;
  options.attention.softcap = problem.softcap;
  options.attention.causality = problem.causality;
  options.attention.window = problem.window;
  options.attention.corner = problem.corner;
  options.attention.offset = problem.offset;
  return options;
}

}  // namespace qkv::bench
