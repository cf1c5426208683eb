// Loops over plain arrays; attention itself is naive_attention.h's.
#include "tests/mutants/naive_layer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/check/variant_cache.h"
#include "src/core/status_macros.h"
#include "tests/mutants/naive_norm.h"
#include "tests/mutants/naive_subject.h"

namespace mutants {
namespace {

using Index = std::int64_t;
using qkv::Dims;
using qkv::DType;
using qkv::Tensor;
using qkv::View;
using qkv::check::Case;
using qkv::check::LayerTensors;
using qkv::check::Placed;
using qkv::check::SubjectAnswer;
using Array = std::vector<float>;

Array floats(View<const void> view) {
  if (!view.is_present()) return {};
  const Tensor exact = std::move(qkv::converted(view, DType::kF64)).value();
  return {exact.data<double>(), exact.data<double>() + exact.size()};
}

Tensor tensor_of(const Array& values, const Dims& shape, DType type) {
  return std::move(qkv::converted(View<const void>(values.data(), DType::kF32, shape), type)).value();
}

struct Matrix {
  Array w, b;  // [rows,columns] [columns] or none
  Index rows = 0, columns = 0;

  Matrix(const Placed& weights, const Placed& bias)
      : w(floats(weights.view)), b(floats(bias.view)), rows(weights.view.shape[0]), columns(weights.view.shape[1]) {}
  Matrix(Index in, Index out) : w(static_cast<std::size_t>(in * out)), rows(in), columns(out) {}

  float& at(Index r, Index c) { return w[static_cast<std::size_t>(r * columns + c)]; }
  void transpose() {
    if (rows != columns) return;
    for (Index r = 0; r < rows; ++r)
      for (Index c = 0; c < r; ++c) std::swap(at(r, c), at(c, r));
  }
};

// x [rows of m] times m, row after row.
Array linear(const Array& x, Matrix& m) {
  const Index rows = static_cast<Index>(x.size()) / m.rows;
  Array y;
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < m.columns; ++c) {
      float sum = m.b.empty() ? 0 : m.b[static_cast<std::size_t>(c)];
      for (Index i = 0; i < m.rows; ++i) sum += x[static_cast<std::size_t>(r * m.rows + i)] * m.at(i, c);
      y.push_back(sum);
    }
  return y;
}

class Layer {
 public:
  Layer(const Case& asked, const Edits& edits) : asked_(asked), p_(asked.problem), t_(asked.layer), edits_(edits) {}

  SubjectAnswer norm_alone() const {
    SubjectAnswer answer;
    const Dims& shape = t_.x.view.shape;
    answer.outputs.layer.y = tensor_of(norm_forward(norm(), edits_), shape, p_.dtype);
    if (!p_.backward) return answer;
    const NaiveNormGradients gradients = norm_backward(norm(), floats(t_.d_y.view), edits_);
    answer.outputs.layer.dx = tensor_of(gradients.dx, shape, p_.dtype);
    answer.outputs.layer.dgamma = tensor_of(gradients.dgamma, t_.gamma.view.shape, p_.dtype);
    answer.outputs.layer.dbeta = tensor_of(gradients.dbeta, t_.beta.view.shape, p_.dtype);
    return answer;
  }

  qkv::Result<SubjectAnswer> forward() const {
    Array u = p_.layer.norm ? norm_forward(norm(), edits_) : floats(t_.x.view);
    rounded(u);
    std::vector<Matrix> projections = p_.layer.fused ? cut() : separate();
    if (edits_.has(Edit::kWeightsTransposed))
      for (Matrix& matrix : projections) matrix.transpose();
    if (edits_.has(Edit::kNoBiases))
      for (Matrix& matrix : projections) matrix.b.clear();
    QKV_ASSIGN_OR_RETURN(Case inner, qkv::check::generate(heads_of(p_)));  // its masks are those that were asked
    Placed* const to[3] = {&inner.q, &inner.k, &inner.v};
    for (int part = 0; part < 3; ++part) {
      const Index heads = part == 0 ? p_.query_heads : p_.kv_heads;
      const Index width = part == 2 ? p_.value_width : p_.width;
      const Array tokens = linear(u, projections[static_cast<std::size_t>(part)]);
      const Tensor made = tensor_of(tokens, {p_.batch, p_.query_length, heads, width}, p_.dtype);
      QKV_ASSIGN_OR_RETURN(*to[part],
                           qkv::check::place(qkv::swap_axes(made.view(), 1, 2), {.layout = qkv::Layout::kBTHD}));
    }
    QKV_ASSIGN_OR_RETURN(SubjectAnswer attended, NaiveSubject(edits_).run(inner));
    Array y = floats(qkv::swap_axes(attended.outputs.o.view(), 1, 2));
    if (t_.wo.view.is_present()) output(y);
    if (edits_.has(Edit::kResidual) && y.size() == floats(t_.x.view).size()) {
      const Array x = floats(t_.x.view);
      std::ranges::transform(y, x, y.begin(), [](float a, float b) { return a + b; });
    }
    SubjectAnswer answer;
    answer.outputs.layer.y = tensor_of(y, qkv::check::layer_output_shape(p_), p_.dtype);
    return answer;
  }

 private:
  static qkv::Problem heads_of(qkv::Problem problem) {
    problem.operation = qkv::Operation::kAttention;
    problem.layer = {};
    problem.layout = qkv::Layout::kBTHD;
    problem.backward = false;
    if (problem.corner == qkv::Corner::kUnset && problem.causality == qkv::Causality::kCausal)
      problem.corner = qkv::Corner::kBottomRight;
    return problem;
  }

  NaiveNorm norm() const {
    return {p_.batch,
            p_.query_length,
            p_.layer.channels,
            floats(t_.x.view),
            floats(t_.gamma.view),
            floats(t_.beta.view),
            static_cast<float>(p_.layer.eps.value_or(1e-5))};
  }

  void rounded(Array& values) const {
    if (p_.dtype != DType::kBF16) return;
    for (float& value : values) value = qkv::to_float(qkv::to_bf16(value));
  }

  std::vector<Matrix> separate() const {
    std::vector<Matrix> all = {{t_.wq, t_.bq}, {t_.wk, t_.bk}, {t_.wv, t_.bv}};
    return all;
  }

  // The columns of wqkv for q, k and v.
  std::vector<Matrix> cut() const {
    Matrix whole(t_.wqkv, t_.bqkv);
    const Index rows = whole.rows;
    const Index heads[3] = {p_.query_heads, p_.kv_heads, p_.kv_heads};
    std::vector<Matrix> parts;
    for (const Index count : heads) parts.emplace_back(rows, count * p_.width);
    Index next[3] = {0, 0, 0};
    Index column = 0;
    const auto take = [&](std::size_t part, Index count) {
      for (Index c = 0; c < count; ++c, ++column) {
        for (Index r = 0; r < rows; ++r) parts[part].at(r, next[part]) = whole.at(r, column);
        if (!whole.b.empty()) parts[part].b.push_back(whole.b[static_cast<std::size_t>(column)]);
        ++next[part];
      }
    };
    if (edits_.has(Edit::kPackedByHead)) {
      for (Index h = 0; h < p_.kv_heads; ++h) {
        take(0, p_.query_heads / p_.kv_heads * p_.width);
        take(1, p_.width);
        take(2, p_.width);
      }
    } else {
      for (const std::size_t part : {0, 1, 2}) take(part, heads[part] * p_.width);
    }
    return parts;
  }

  void output(Array& y) const {
    rounded(y);
    Matrix wo(t_.wo, t_.bo);
    if (edits_.has(Edit::kNoOutput) && wo.rows == wo.columns) return;
    if (edits_.has(Edit::kOutputTransposed)) wo.transpose();
    if (edits_.has(Edit::kNoOutputBias)) wo.b.clear();
    if (edits_.has(Edit::kOutputBiasPerHead))
      for (float& b : wo.b) b *= static_cast<float>(p_.query_heads);
    y = linear(y, wo);
  }

  const Case& asked_;
  const qkv::Problem& p_;
  const LayerTensors& t_;
  const Edits& edits_;
};

// Row (b,·,from) of `tokens` [B,H,n,D] to slot (b,·,to) of `cache` [B,H,m,D].
void append(Tensor& cache, const Tensor& tokens, Index b, Index from, Index to) {
  const Dims& shape = cache.shape();
  if (to < 0 || to >= shape[2]) return;
  const std::size_t row = static_cast<std::size_t>(shape[3]) * size_of(cache.dtype());
  for (Index h = 0; h < shape[1]; ++h) {
    const auto source = static_cast<std::size_t>((b * shape[1] + h) * tokens.shape()[2] + from);
    const auto target = static_cast<std::size_t>((b * shape[1] + h) * shape[2] + to);
    std::copy_n(tokens.data<unsigned char>() + source * row, row, cache.data<unsigned char>() + target * row);
  }
}

}  // namespace

qkv::Result<SubjectAnswer> NaiveLayerSubject::run(const Case& asked) {
  const Layer layer(asked, edits_);
  if (asked.problem.operation == qkv::Operation::kLayerNorm) return layer.norm_alone();
  return layer.forward();
}

qkv::Result<SubjectAnswer> NaiveDecodeSubject::run(const Case& asked) {
  const qkv::Problem& p = asked.problem;
  QKV_ASSIGN_OR_RETURN(qkv::check::CacheState cache, qkv::check::cache_before(asked));
  QKV_ASSIGN_OR_RETURN(const qkv::check::CacheState tokens, qkv::check::new_tokens(asked));
  const std::vector<Index> old = cache.lengths;
  qkv::Problem heads = p;
  heads.operation = qkv::Operation::kAttention;
  heads.key_lengths.clear();
  for (Index b = 0; b < p.batch; ++b) {
    const Index length = edits_.has(Edit::kLengthOfFirst) ? old[0] : old[static_cast<std::size_t>(b)];
    Index first = length;
    if (edits_.has(Edit::kAppendOverLast)) first -= p.query_length;
    if (edits_.has(Edit::kAppendOneFurther)) first += 1;
    for (Index t = 0; t < p.query_length; ++t) {
      const Index slot = first + (edits_.has(Edit::kAppendReversed) ? p.query_length - 1 - t : t);
      append(cache.k, tokens.k, b, t, slot);
      append(cache.v, tokens.v, b, t, slot);
    }
    const bool grows = !edits_.has(Edit::kAppendOverLast) && !edits_.has(Edit::kAppendAfter);
    heads.key_lengths.push_back(length + (grows ? p.query_length : 0));
  }
  if (edits_.has(Edit::kAppendAfter)) heads.causality = qkv::Causality::kNone;
  QKV_ASSIGN_OR_RETURN(Case inner, qkv::check::generate(heads));
  QKV_ASSIGN_OR_RETURN(inner.k, qkv::check::place(cache.k.view(), {.layout = p.layout}));
  QKV_ASSIGN_OR_RETURN(inner.v, qkv::check::place(cache.v.view(), {.layout = p.layout}));
  QKV_ASSIGN_OR_RETURN(SubjectAnswer answer, NaiveSubject(edits_).run(inner));
  answer.outputs.cache_k = std::move(cache.k);
  answer.outputs.cache_v = std::move(cache.v);
  return answer;
}

}  // namespace mutants
