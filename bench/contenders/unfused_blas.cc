// What many programs do without a fused kernel: sgemm, softmax over a head's whole scores, sgemm, by somebody's CBLAS.
// Compiled for the machine that measures (-O3 -march=native -ffast-math -fopenmp), so that its softmax is vectorised
// too.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

enum { kRowMajor = 101, kNoTrans = 111, kTrans = 112 };
using Sgemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float* a,
                       int lda, const float* b, int ldb, float beta, float* c, int ldc);

struct Shape {
  std::int64_t batch, query_heads, kv_heads, query_length, key_length, width, value_width;
  int causal;  // query i sees keys up to i + key_length − query_length
  int threads;
};

struct Tensors {  // contiguous [B,H,T,D]; the gradients may be null
  const float *q, *k, *v, *d_o;
  float *o, *dq, *dk, *dv;
};

// exp(s − max) of one row, in place; the sum. Hidden entries become 0.
float softmax_row(float* row, std::int64_t keys, std::int64_t seen) {
  float largest = -INFINITY;
  for (std::int64_t j = 0; j < seen; ++j) largest = largest > row[j] ? largest : row[j];
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < seen; ++j) {
    row[j] = expf(row[j] - largest);
    sum += row[j];
  }
  if (seen < keys) std::memset(row + seen, 0, static_cast<std::size_t>(keys - seen) * sizeof(float));
  return sum;
}

// One head, or for one query a head all heads of a group as the rows of one matrix.
class Head {
 public:
  Head(Sgemm sgemm, const Shape& shape, std::int64_t rows) : sgemm_(sgemm), shape_(shape), rows_(rows) {
    const auto scores = static_cast<std::size_t>(rows * shape.key_length);
    p_.resize(scores);
    sums_.resize(static_cast<std::size_t>(rows));
  }

  void forward(const float* q, const float* k, const float* v, float* o, bool keep_weights) {
    const int m = static_cast<int>(rows_), n = keys(), d = width(), dv = value_width();
    sgemm_(kRowMajor, kNoTrans, kTrans, m, n, d, 1 / std::sqrt(static_cast<float>(d)), q, d, k, d, 0, p_.data(), n);
    for (std::int64_t i = 0; i < rows_; ++i) {
      float* row = p_.data() + i * shape_.key_length;
      sums_[static_cast<std::size_t>(i)] = softmax_row(row, shape_.key_length, seen(i));
      if (keep_weights) scale(row, shape_.key_length, 1 / sums_[static_cast<std::size_t>(i)]);
    }
    sgemm_(kRowMajor, kNoTrans, kNoTrans, m, dv, n, 1, p_.data(), n, v, dv, 0, o, dv);
    if (!keep_weights)
      for (std::int64_t i = 0; i < rows_; ++i)
        scale(o + i * shape_.value_width, shape_.value_width, 1 / sums_[static_cast<std::size_t>(i)]);
  }

  // After forward() with keep_weights; adds to dk and dv.
  void backward(const float* q, const float* k, const float* v, const float* o, const float* d_o, float* dq, float* dk,
                float* dv) {
    const int m = static_cast<int>(rows_), n = keys(), d = width(), w = value_width();
    const float factor = 1 / std::sqrt(static_cast<float>(d));
    ds_.resize(p_.size());
    sgemm_(kRowMajor, kTrans, kNoTrans, n, w, m, 1, p_.data(), n, d_o, w, 1, dv, w);
    sgemm_(kRowMajor, kNoTrans, kTrans, m, n, w, 1, d_o, w, v, w, 0, ds_.data(), n);
    for (std::int64_t i = 0; i < rows_; ++i) {
      float delta = 0;
      for (std::int64_t c = 0; c < shape_.value_width; ++c)
        delta += o[i * shape_.value_width + c] * d_o[i * shape_.value_width + c];
      float* row = ds_.data() + i * shape_.key_length;
      const float* p = p_.data() + i * shape_.key_length;
      for (std::int64_t j = 0; j < shape_.key_length; ++j) row[j] = p[j] * (row[j] - delta);
    }
    sgemm_(kRowMajor, kNoTrans, kNoTrans, m, d, n, factor, ds_.data(), n, k, d, 0, dq, d);
    sgemm_(kRowMajor, kTrans, kNoTrans, n, d, m, factor, ds_.data(), n, q, d, 1, dk, d);
  }

 private:
  int keys() const { return static_cast<int>(shape_.key_length); }
  int width() const { return static_cast<int>(shape_.width); }
  int value_width() const { return static_cast<int>(shape_.value_width); }
  std::int64_t seen(std::int64_t row) const {
    if (shape_.causal == 0 || shape_.query_length == 1) return shape_.key_length;
    return row + 1 + shape_.key_length - shape_.query_length;
  }
  static void scale(float* row, std::int64_t n, float factor) {
    for (std::int64_t j = 0; j < n; ++j) row[j] *= factor;
  }

  Sgemm sgemm_;
  const Shape& shape_;
  const std::int64_t rows_;
  std::vector<float> p_, ds_, sums_;
};

// All query heads of one KV head.
void group(const Shape& s, const Tensors& t, std::int64_t at, Head& head) {
  const std::int64_t of_group = s.query_heads / s.kv_heads;
  const float* k = t.k + at * s.key_length * s.width;
  const float* v = t.v + at * s.key_length * s.value_width;
  float* dk = t.dk == nullptr ? nullptr : t.dk + at * s.key_length * s.width;
  float* dv = t.dv == nullptr ? nullptr : t.dv + at * s.key_length * s.value_width;
  if (dk != nullptr) {
    std::memset(dk, 0, static_cast<std::size_t>(s.key_length * s.width) * sizeof(float));
    std::memset(dv, 0, static_cast<std::size_t>(s.key_length * s.value_width) * sizeof(float));
  }
  const std::int64_t steps = s.query_length == 1 ? 1 : of_group;
  for (std::int64_t g = 0; g < steps; ++g) {
    const std::int64_t row = (at * of_group + g) * s.query_length;
    const float* q = t.q + row * s.width;
    float* o = t.o + row * s.value_width;
    head.forward(q, k, v, o, dk != nullptr);
    if (dk != nullptr) head.backward(q, k, v, o, t.d_o + row * s.value_width, t.dq + row * s.width, dk, dv);
  }
}

}  // namespace

extern "C" void unfused_attention(Sgemm sgemm, const Shape* shape, const Tensors* tensors) {
  const std::int64_t rows = shape->query_length == 1 ? shape->query_heads / shape->kv_heads : shape->query_length;
  static thread_local std::vector<Head> heads;  // scores stay allocated from call to call
  static thread_local Shape of_heads{};
  if (std::memcmp(&of_heads, shape, sizeof(Shape)) != 0) {
    heads.clear();
    of_heads = *shape;
    for (int worker = 0; worker < shape->threads; ++worker) heads.emplace_back(sgemm, of_heads, rows);
  }
  const std::int64_t groups = shape->batch * shape->kv_heads;
  std::vector<Head>& mine = heads;
#pragma omp parallel for schedule(static, 1) num_threads(shape->threads)
  for (int worker = 0; worker < shape->threads; ++worker)
    for (std::int64_t at = worker; at < groups; at += shape->threads)
      group(*shape, *tensors, at, mine[static_cast<std::size_t>(worker)]);
}
