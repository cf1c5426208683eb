// The tensors around a layer: what it is given, and what it gives.
#ifndef QKV_SRC_CHECK_LAYER_TENSORS_H_
#define QKV_SRC_CHECK_LAYER_TENSORS_H_

#include <array>

#include "qkv/layer.h"
#include "qkv/problem.h"
#include "src/check/placed.h"

namespace qkv::check {

// Shapes as in qkv/layer.h; those that a problem has not are absent.
struct LayerTensors {
  Placed x, gamma, beta, wq, wk, wv, bq, bk, bv, wqkv, bqkv, wo, bo, d_y;

  LayerParameters parameters() const {
    return {gamma.view, beta.view, wq.view,   wk.view,   wv.view, bq.view,
            bk.view,    bv.view,   wqkv.view, bqkv.view, wo.view, bo.view};
  }
};

// What a layer is given. d_y may be absent: then there are no gradients.
struct LayerGiven {
  Operation operation =
      Operation::kLayer;  // or kLayerNorm: then y = norm(x), and of the parameters gamma and beta count
  View<const void> x;
  LayerParameters parameters;
  LayerOptions options;
  View<const void> d_y;
};

struct NamedLayerTensor {
  const char* name;
  Placed LayerTensors::* member;
};

inline constexpr auto kLayerTensors = std::to_array<NamedLayerTensor>({{"x", &LayerTensors::x},
                                                                       {"gamma", &LayerTensors::gamma},
                                                                       {"beta", &LayerTensors::beta},
                                                                       {"wq", &LayerTensors::wq},
                                                                       {"wk", &LayerTensors::wk},
                                                                       {"wv", &LayerTensors::wv},
                                                                       {"bq", &LayerTensors::bq},
                                                                       {"bk", &LayerTensors::bk},
                                                                       {"bv", &LayerTensors::bv},
                                                                       {"wqkv", &LayerTensors::wqkv},
                                                                       {"bqkv", &LayerTensors::bqkv},
                                                                       {"wo", &LayerTensors::wo},
                                                                       {"bo", &LayerTensors::bo},
                                                                       {"d_y", &LayerTensors::d_y}});

// y, and the gradients of what is there.
struct LayerOutputs {
  Tensor y, dx, dgamma, dbeta, dwq, dwk, dwv, dbq, dbk, dbv, dwqkv, dbqkv, dwo, dbo;
};

struct NamedLayerOutput {
  const char* name;
  Tensor LayerOutputs::* member;
  Placed LayerTensors::* of;  // what it is the gradient of; of y, d_y
};

inline constexpr auto kLayerOutputs =
    std::to_array<NamedLayerOutput>({{"y", &LayerOutputs::y, &LayerTensors::d_y},
                                     {"dx", &LayerOutputs::dx, &LayerTensors::x},
                                     {"dgamma", &LayerOutputs::dgamma, &LayerTensors::gamma},
                                     {"dbeta", &LayerOutputs::dbeta, &LayerTensors::beta},
                                     {"dwq", &LayerOutputs::dwq, &LayerTensors::wq},
                                     {"dwk", &LayerOutputs::dwk, &LayerTensors::wk},
                                     {"dwv", &LayerOutputs::dwv, &LayerTensors::wv},
                                     {"dbq", &LayerOutputs::dbq, &LayerTensors::bq},
                                     {"dbk", &LayerOutputs::dbk, &LayerTensors::bk},
                                     {"dbv", &LayerOutputs::dbv, &LayerTensors::bv},
                                     {"dwqkv", &LayerOutputs::dwqkv, &LayerTensors::wqkv},
                                     {"dbqkv", &LayerOutputs::dbqkv, &LayerTensors::bqkv},
                                     {"dwo", &LayerOutputs::dwo, &LayerTensors::wo},
                                     {"dbo", &LayerOutputs::dbo, &LayerTensors::bo}});

inline bool is_layer(const Problem& problem) {
  return problem.operation == Operation::kLayer || problem.operation == Operation::kLayerNorm;
}

// [B,T,Cout], or [B,T,Hq·Dv] without wo; of a layernorm as x.
Dims layer_output_shape(const Problem& problem);

// x and d_y N(0,1) (x with the problem's spread and shift), the weights N(0,1) / √C, so that every result is of the
// size of its input, gamma 1 + N(0,1) / 4, the rest N(0,1); each rounded once. Errors: kOutOfMemory, kInvalidArgument.
Result<LayerTensors> generate_layer(const Problem& problem, const Placement& placement);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LAYER_TENSORS_H_
