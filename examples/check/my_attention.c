// Causal attention as one writes it for training, where there are as many queries as keys. It has one mistake, that of
// Dao-AILab/flash-attention#282, pytorch/pytorch#108108 and ml-explore/mlx#2835: with fewer queries than keys, the
// new queries are counted from the first key instead of up to the last one.
//
//   cc -O2 -shared -fPIC -Iinclude examples/check/my_attention.c -o build/libmine.so -lm
//   build/qkv check build/libmine.so:my_attention
#include <math.h>

#include "qkv/check_abi.h"

static float at(const qkv_check_input* tensor, int64_t b, int64_t h, int64_t i, int64_t c) {
  const int64_t* step = tensor->strides;
  return ((const float*)tensor->data)[b * step[0] + h * step[1] + i * step[2] + c * step[3]];
}

static void attend(const qkv_check_call* call, int64_t b, int64_t h, int64_t i) {
  enum { kMostKeys = 1024 };
  const int64_t kv = h / (call->query_heads / call->kv_heads);
  const int64_t seen = call->causal && i + 1 < call->key_length ? i + 1 : call->key_length;  // the mistake
  float score[kMostKeys], largest = -INFINITY, sum = 0;
  for (int64_t j = 0; j < seen; ++j) {
    score[j] = 0;
    for (int64_t c = 0; c < call->width; ++c) score[j] += at(&call->q, b, h, i, c) * at(&call->k, b, kv, j, c);
    score[j] *= (float)call->scale;
    largest = fmaxf(largest, score[j]);
  }
  for (int64_t j = 0; j < seen; ++j) sum += score[j] = expf(score[j] - largest);

  const int64_t* step = call->o.strides;
  float* row = (float*)call->o.data + b * step[0] + h * step[1] + i * step[2];
  for (int64_t c = 0; c < call->value_width; ++c) {
    float total = 0;
    for (int64_t j = 0; j < seen; ++j) total += score[j] * at(&call->v, b, kv, j, c);
    row[c * step[3]] = total / sum;
  }
}

int my_attention(const qkv_check_call* call) {
  const int64_t supported =
      QKV_CHECK_USES_CAUSAL | QKV_CHECK_USES_GROUPS | QKV_CHECK_USES_SCALE | QKV_CHECK_USES_STRIDES;
  if (call->uses & ~supported || call->dtype != QKV_CHECK_F32 || call->key_length > 1024) return QKV_CHECK_UNSUPPORTED;
  for (int64_t b = 0; b < call->batch; ++b)
    for (int64_t h = 0; h < call->query_heads; ++h)
      for (int64_t i = 0; i < call->query_length; ++i) attend(call, b, h, i);
  return QKV_CHECK_DONE;
}
