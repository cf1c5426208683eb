// The reference's layer gradients against central differences: x and every parameter, separate and fused.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "qkv/reference.h"
#include "tests/array.h"
#include "tests/central_differences.h"

namespace qkv {
namespace {

using testing::Array;
using testing::expect_gradient;
using testing::Lcg32;
using testing::numbers;

// B 2, T 3, C 4, Hq/Hkv 4/2, D 3, Dv 2 (3 where fused), Cout 5.
struct Layer {
  Array x, gamma, beta, wq, wk, wv, bq, bk, bv, wqkv, bqkv, wo, bo;
  LayerOptions options;

  LayerParameters parameters() const {
    LayerParameters p;
    p.gamma = view(gamma);
    p.beta = view(beta);
    p.wq = view(wq);
    p.wk = view(wk);
    p.wv = view(wv);
    p.bq = view(bq);
    p.bk = view(bk);
    p.bv = view(bv);
    p.wqkv = view(wqkv);
    p.bqkv = view(bqkv);
    p.wo = view(wo);
    p.bo = view(bo);
    return p;
  }
  static View<const void> view(const Array& array) { return array.values.empty() ? View<const void>() : array.view(); }
};

View<void> writable(Array& array) { return View<double>(array.values.data(), array.shape); }

enum class Weights { kSeparate, kFused };

// Every parameter is there; a test clears what it does without.
Layer full_layer(Weights weights) {
  Lcg32 random(17);
  Layer layer;
  layer.options.query_heads = 4;
  layer.options.kv_heads = 2;
  layer.x = random.fill({2, 3, 4}, 2);
  layer.gamma = random.fill({4});
  layer.beta = random.fill({4});
  if (weights == Weights::kFused) {
    layer.wqkv = random.fill({4, 24});
    layer.bqkv = random.fill({24});
    layer.wo = random.fill({12, 5});
  } else {
    layer.wq = random.fill({4, 12});
    layer.bq = random.fill({12});
    layer.wk = random.fill({4, 6});
    layer.bk = random.fill({6});
    layer.wv = random.fill({4, 4});
    layer.bv = random.fill({4});
    layer.wo = random.fill({8, 5});
  }
  layer.bo = random.fill({5});
  return layer;
}

// The gradients of the parts of a fused matrix [C,Hq·D | Hkv·D | Hkv·D] (or vector) side by side again.
Tensor fused(const Tensor& q, const Tensor& k, const Tensor& v) {
  const bool matrix = q.shape().rank() == 2;
  const std::int64_t rows = matrix ? q.shape()[0] : 1;
  std::int64_t width = 0;
  for (const Tensor* part : {&q, &k, &v}) width += part->size() / rows;
  Tensor out = std::move(Tensor::zeros(DType::kF64, matrix ? Dims{rows, width} : Dims{width}).value());
  double* next = out.data<double>();
  for (std::int64_t row = 0; row < rows; ++row)
    for (const Tensor* part : {&q, &k, &v})
      for (std::int64_t c = 0; c < part->size() / rows; ++c)
        *next++ = part->data<double>()[row * part->size() / rows + c];
  return out;
}

void expect_gradients(Layer layer) {
  const auto forward = reference::layer_forward(layer.x.view(), layer.parameters(), layer.options);
  ASSERT_TRUE(forward.is_ok()) << forward.status().message();
  const Array d_y = Lcg32(23).fill(forward->shape());
  const auto result = reference::layer_backward(layer.x.view(), layer.parameters(), d_y.view(), layer.options);
  ASSERT_TRUE(result.is_ok()) << result.status().message();

  const auto outputs = [&] {
    const auto y = reference::layer_forward(layer.x.view(), layer.parameters(), layer.options);
    EXPECT_TRUE(y.is_ok());
    return y.is_ok() ? numbers(*y) : std::vector<double>(d_y.values.size());
  };
  const auto expect = [&](const char* name, Array& input, const Tensor& gradient) {
    if (input.values.empty()) return;
    expect_gradient(name, writable(input), gradient, d_y.values, outputs);
  };
  expect("dx", layer.x, result->dx);
  expect("dgamma", layer.gamma, result->dgamma);
  expect("dbeta", layer.beta, result->dbeta);
  expect("dwq", layer.wq, result->dwq);
  expect("dwk", layer.wk, result->dwk);
  expect("dwv", layer.wv, result->dwv);
  expect("dbq", layer.bq, result->dbq);
  expect("dbk", layer.bk, result->dbk);
  expect("dbv", layer.bv, result->dbv);
  expect("dwo", layer.wo, result->dwo);
  expect("dbo", layer.bo, result->dbo);
  if (!layer.wqkv.values.empty()) expect("dwqkv", layer.wqkv, fused(result->dwq, result->dwk, result->dwv));
  if (!layer.bqkv.values.empty()) expect("dbqkv", layer.bqkv, fused(result->dbq, result->dbk, result->dbv));
}

TEST(LayerCentralDifferences, of_the_full_layer_are_the_gradients) { expect_gradients(full_layer(Weights::kSeparate)); }

TEST(LayerCentralDifferences, of_a_fused_matrix_are_the_gradients_of_its_parts) {
  expect_gradients(full_layer(Weights::kFused));
}

TEST(LayerCentralDifferences, without_the_optional_parameters_are_the_gradients) {
  Layer layer = full_layer(Weights::kSeparate);
  layer.gamma = layer.beta = layer.bq = layer.bk = layer.bv = layer.bo = {};
  expect_gradients(layer);
  layer.wo = {};
  expect_gradients(layer);
}

TEST(LayerCentralDifferences, without_a_norm_are_the_gradients) {
  Layer layer = full_layer(Weights::kSeparate);
  layer.gamma = layer.beta = {};
  layer.options.norm = Norm::kNone;
  expect_gradients(layer);
}

TEST(LayerCentralDifferences, with_eps_0_and_with_a_large_eps_are_the_gradients) {
  for (const double eps : {0.0, 0.5}) {
    Layer layer = full_layer(Weights::kSeparate);
    layer.options.eps = eps;
    expect_gradients(layer);
  }
}

TEST(LayerCentralDifferences, with_masks_softcap_and_sinks_are_the_gradients) {
  const std::vector<double> sinks = {0.5, -0.25, 1, 0};
  const std::vector<std::int64_t> lengths = {3, 2};
  Layer layer = full_layer(Weights::kFused);
  layer.options.attention.causality = Causality::kCausal;
  layer.options.attention.corner = Corner::kTopLeft;
  layer.options.attention.softcap = 0.8;
  layer.options.attention.sinks = sinks;
  layer.options.attention.key_lengths = lengths;
  expect_gradients(layer);
}

}  // namespace
}  // namespace qkv
