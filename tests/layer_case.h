// A layer with random parameters in any type, form and place in memory, for the tests of the fast layer.
#ifndef QKV_TESTS_LAYER_CASE_H_
#define QKV_TESTS_LAYER_CASE_H_

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "qkv/layer.h"
#include "qkv/reference.h"
#include "src/check/plain_layer.h"
#include "tests/layer_testing.h"

namespace qkv {

enum class Weights : std::uint8_t { kSeparate, kFused };
enum class Presence : std::uint8_t { kAbsent, kPresent };

struct LayerForm {
  std::int64_t batch = 2, length = 7, channels = 20;
  std::int64_t query_heads = 4, kv_heads = 2, width = 6, value_width = 5, out_channels = 11;  // Dv = D where fused
  DType dtype = DType::kF32;
  Weights weights = Weights::kSeparate;
  Norm norm = Norm::kLayerNorm;
  Presence output = Presence::kPresent;  // wo and bo
  Presence biases = Presence::kPresent;
  Presence scales = Presence::kPresent;  // gamma and beta
  check::Placement placement = {};
  bool transposed = false;  // weights as PyTorch keeps them: the transposes are contiguous
};

inline std::string to_string(const LayerForm& f) {
  return "layer B" + std::to_string(f.batch) + " T" + std::to_string(f.length) + " C" + std::to_string(f.channels) +
         " H" + std::to_string(f.query_heads) + "/" + std::to_string(f.kv_heads) + " D" + std::to_string(f.width) +
         "/" + std::to_string(f.value_width) + " " + std::string(to_string(f.dtype)) +
         (f.weights == Weights::kFused ? " fused" : "") + (f.norm == Norm::kNone ? " no norm" : "") +
         (f.output == Presence::kAbsent ? " no output" : "") + (f.biases == Presence::kAbsent ? " no biases" : "") +
         (f.transposed ? " transposed" : "");
}

// Owns what its views show.
class LayerCase {
 public:
  explicit LayerCase(LayerForm form) : form_(form) {
    if (form_.weights == Weights::kFused) form_.value_width = form_.width;
    const LayerForm& f = form_;
    options.query_heads = f.query_heads;
    options.kv_heads = f.kv_heads;
    options.norm = f.norm;
    x = random_tensor(f.dtype, {f.batch, f.length, f.channels}, 1, f.placement);
    d_y = random_tensor(f.dtype, {f.batch, f.length, out_width()}, 2, f.placement);
    const std::int64_t q = f.query_heads * f.width, k = f.kv_heads * f.width, v = f.kv_heads * f.value_width;
    if (f.norm == Norm::kLayerNorm && f.scales == Presence::kPresent) {
      p.gamma = vector(f.channels);
      p.beta = vector(f.channels);
    }
    if (f.weights == Weights::kFused) {
      p.wqkv = matrix(f.channels, q + k + v);
      p.bqkv = bias(q + k + v);
    } else {
      p.wq = matrix(f.channels, q);
      p.wk = matrix(f.channels, k);
      p.wv = matrix(f.channels, v);
      p.bq = bias(q);
      p.bk = bias(k);
      p.bv = bias(v);
    }
    if (f.output == Presence::kPresent) {
      p.wo = matrix(f.query_heads * f.value_width, f.out_channels);
      p.bo = bias(f.out_channels);
    }
  }

  const LayerForm& form() const { return form_; }
  std::int64_t out_width() const {
    return form_.output == Presence::kPresent ? form_.out_channels : form_.query_heads * form_.value_width;
  }
  check::Placed empty_y() const { return must(check::place_empty(form_.dtype, d_y.view.shape, form_.placement)); }

  check::Placed x, d_y;
  LayerParameters p;
  LayerOptions options;

 private:
  View<void> keep(check::Placed placed) {
    owned_.push_back(std::move(placed));
    return owned_.back().view;
  }
  View<void> vector(std::int64_t size) { return keep(random_tensor(form_.dtype, {size}, next_++)); }
  View<void> bias(std::int64_t size) { return form_.biases == Presence::kPresent ? vector(size) : View<void>(); }
  View<void> matrix(std::int64_t in, std::int64_t out) {
    const double scale = 1 / std::sqrt(static_cast<double>(in));
    return keep(random_tensor(form_.dtype, {in, out}, next_++, form_.placement, form_.transposed, scale));
  }

  LayerForm form_;
  std::uint64_t next_ = 3;  // stream
  std::vector<check::Placed> owned_;
};

// Memory for every gradient that a layer has, in the type of `dtype`.
struct GradientMemory {
  check::Placed dx, dgamma, dbeta, dwq, dwk, dwv, dbq, dbk, dbv, dwqkv, dbqkv, dwo, dbo;

  GradientMemory(const LayerCase& c, DType dtype) {
    const auto like = [dtype](check::Placed& to, View<const void> of) {
      if (of.is_present()) to = empty_tensor(dtype, of.shape);
    };
    dx = must(check::place_empty(dtype, c.x.view.shape, c.form().placement));
    like(dgamma, c.p.gamma);
    like(dbeta, c.p.beta);
    like(dwq, c.p.wq);
    like(dwk, c.p.wk);
    like(dwv, c.p.wv);
    like(dbq, c.p.bq);
    like(dbk, c.p.bk);
    like(dbv, c.p.bv);
    like(dwqkv, c.p.wqkv);
    like(dbqkv, c.p.bqkv);
    like(dwo, c.p.wo);
    like(dbo, c.p.bo);
  }
  LayerGradientViews views() const {
    return {dx.view,  dgamma.view, dbeta.view, dwq.view,   dwk.view, dwv.view, dbq.view,
            dbk.view, dbv.view,    dwqkv.view, dbqkv.view, dwo.view, dbo.view};
  }
  // Those that are there.
  std::vector<const check::Placed*> all() const {
    std::vector<const check::Placed*> found;
    for (const check::Placed* gradient :
         {&dx, &dgamma, &dbeta, &dwq, &dwk, &dwv, &dbq, &dbk, &dbv, &dwqkv, &dbqkv, &dwo, &dbo})
      if (gradient->view.is_present()) found.push_back(gradient);
    return found;
  }
};

// The gradients of the parts of a fused matrix (or vector) side by side again.
inline Tensor beside(const Tensor& q, const Tensor& k, const Tensor& v) {
  const bool matrix = q.shape().rank() == 2;
  const std::int64_t rows = matrix ? q.shape()[0] : 1;
  const std::int64_t width = (q.size() + k.size() + v.size()) / rows;
  Tensor out = must(Tensor::zeros(DType::kF64, matrix ? Dims{rows, width} : Dims{width}));
  double* next = out.data<double>();
  for (std::int64_t row = 0; row < rows; ++row)
    for (const Tensor* part : {&q, &k, &v}) {
      const std::int64_t columns = part->size() / rows;
      for (std::int64_t c = 0; c < columns; ++c) *next++ = element_as_double(part->view(), row * columns + c);
    }
  return out;
}

}  // namespace qkv

#endif  // QKV_TESTS_LAYER_CASE_H_
