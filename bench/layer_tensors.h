// A layer of the size that a problem line says: model width Hq·D, one fused projection, LayerNorm, output projection.
#ifndef QKV_BENCH_LAYER_TENSORS_H_
#define QKV_BENCH_LAYER_TENSORS_H_

#include "qkv/layer.h"
#include "qkv/problem.h"

namespace qkv::bench {

// Tensors of the problem's type; x [B,T,C], the weights scaled so that every result is of the size of its input.
struct LayerTensors {
  Tensor x, d_y, y;
  Tensor gamma, beta, wqkv, bqkv, wo, bo;
  Tensor dx, dgamma, dbeta, dwqkv, dbqkv, dwo, dbo;
  Tensor qkv, o, lse;  // what the forward pass keeps for the gradient

  LayerParameters parameters() const;
  LayerGradientViews gradients();
  LayerKept kept() { return {qkv.view(), o.view(), lse.view()}; }
};

// Errors: kInvalidArgument for a problem that is no layer's (Tq ≠ Tk, D ≠ Dv, tensors beside q, k and v), kOutOfMemory.
Result<LayerTensors> make_layer(const Problem& problem);

LayerOptions layer_options(const Problem& problem);

}  // namespace qkv::bench

#endif  // QKV_BENCH_LAYER_TENSORS_H_
