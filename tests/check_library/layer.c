// A layer as one writes it first, and right: f32, separate matrices.
#include <math.h>
#include <string.h>

#include "qkv/check_abi.h"

enum { kMost = 1024, kTokens = 64 };  // numbers of a token, tokens

// y = (x - mean) / sigma gamma + beta.
static void normalise(const qkv_check_call* call, const float* x, float* y) {
  const int64_t n = call->channels;
  float mean = 0, variance = 0;
  for (int64_t c = 0; c < n; ++c) mean += x[c] / (float)n;
  for (int64_t c = 0; c < n; ++c) variance += (x[c] - mean) * (x[c] - mean);
  const float sigma = sqrtf(variance / (float)n + (float)call->eps);
  const float *gamma = call->gamma.data, *beta = call->beta.data;
  for (int64_t c = 0; c < n; ++c) y[c] = (x[c] - mean) / sigma * gamma[c] + beta[c];
}

// o = softmax(scale q K^T) V over the first `keys` rows; K and V have `stride` and `value_stride` numbers a row.
static void attend(const qkv_check_call* call, const float* q, const float* k, int64_t stride, const float* v,
                   int64_t value_stride, int64_t keys, float* o) {
  float p[kMost], largest = -INFINITY, sum = 0;
  for (int64_t j = 0; j < keys; ++j) {
    p[j] = 0;
    for (int64_t c = 0; c < call->width; ++c) p[j] += q[c] * k[j * stride + c];
    largest = fmaxf(largest, p[j] *= (float)call->scale);
  }
  for (int64_t j = 0; j < keys; ++j) sum += p[j] = expf(p[j] - largest);
  for (int64_t c = 0; c < call->value_width; ++c) {
    float total = 0;
    for (int64_t j = 0; j < keys; ++j) total += p[j] * v[j * value_stride + c];
    o[c] = total / sum;
  }
}

// y [columns] = x [rows] w + bias; a null bias is none.
static void project(const float* x, const qkv_check_input* w, const qkv_check_input* bias, float* y) {
  for (int64_t c = 0; c < w->shape[1]; ++c) {
    y[c] = bias->data ? ((const float*)bias->data)[c] : 0;
    for (int64_t r = 0; r < w->shape[0]; ++r) y[c] += x[r] * ((const float*)w->data)[r * w->shape[1] + c];
  }
}

// Norm, projections, heads, attention, output projection; separate matrices, causal or not.
int my_layer(const qkv_check_call* call) {
  const int64_t supported = QKV_CHECK_USES_LAYER | QKV_CHECK_USES_NORM | QKV_CHECK_USES_BIASES | QKV_CHECK_USES_OUTPUT |
                            QKV_CHECK_USES_CAUSAL | QKV_CHECK_USES_GROUPS | QKV_CHECK_USES_SCALE;
  const int64_t group = call->query_heads / call->kv_heads, tokens = call->query_length;
  const int64_t qs = call->query_heads * call->width, ks = call->kv_heads * call->width,
                vs = call->kv_heads * call->value_width, os = call->query_heads * call->value_width;
  if (call->uses & ~supported || call->dtype != QKV_CHECK_F32) return QKV_CHECK_UNSUPPORTED;
  if (tokens > kTokens || qs > kMost || os > kMost || vs > kMost || call->channels > kMost)
    return QKV_CHECK_UNSUPPORTED;
  static float q[kTokens][kMost], k[kTokens * kMost], v[kTokens * kMost];
  for (int64_t b = 0; b < call->batch; ++b) {
    for (int64_t t = 0; t < tokens; ++t) {
      float u[kMost];
      const float* x = (const float*)call->x.data + (b * tokens + t) * call->channels;
      if (call->uses & QKV_CHECK_USES_NORM)
        normalise(call, x, u);
      else
        memcpy(u, x, (size_t)call->channels * sizeof *x);
      project(u, &call->wq, &call->bq, q[t]);
      project(u, &call->wk, &call->bk, k + t * ks);
      project(u, &call->wv, &call->bv, v + t * vs);
    }
    for (int64_t t = 0; t < tokens; ++t) {
      float merged[kMost];
      for (int64_t h = 0; h < call->query_heads; ++h)
        attend(call, q[t] + h * call->width, k + h / group * call->width, ks, v + h / group * call->value_width, vs,
               call->causal ? t + 1 : tokens, merged + h * call->value_width);
      float* y = (float*)call->y.data + (b * tokens + t) * call->out_channels;
      if (call->uses & QKV_CHECK_USES_OUTPUT)
        project(merged, &call->wo, &call->bo, y);
      else
        memcpy(y, merged, (size_t)os * sizeof *y);
    }
  }
  return QKV_CHECK_DONE;
}
