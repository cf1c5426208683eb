// Attention in plain f32 loops that is right wherever it does not refuse: what `qkv check` must not blame.
#include <math.h>

#include "qkv/check_abi.h"

enum { kMostKeys = 512 };

static const int64_t kSupported = QKV_CHECK_USES_CAUSAL | QKV_CHECK_USES_WINDOW | QKV_CHECK_USES_KEEP |
                                  QKV_CHECK_USES_BIAS | QKV_CHECK_USES_SOFTCAP | QKV_CHECK_USES_SCALE |
                                  QKV_CHECK_USES_GROUPS | QKV_CHECK_USES_STRIDES | QKV_CHECK_USES_SINKS;

static int64_t place(const int64_t strides[4], int64_t b, int64_t h, int64_t i, int64_t c) {
  return b * strides[0] + h * strides[1] + i * strides[2] + c * strides[3];
}

static float element(const qkv_check_input* from, int64_t b, int64_t h, int64_t i, int64_t c) {
  return ((const float*)from->data)[place(from->strides, b, h, i, c)];
}

static int is_seen(const qkv_check_call* call, int64_t b, int64_t h, int64_t i, int64_t j) {
  int64_t p = i;
  if (call->corner == QKV_CHECK_CORNER_BOTTOM_RIGHT) p += call->key_length - call->query_length;
  if (call->corner == QKV_CHECK_CORNER_OFFSET) p += call->offset;
  if (call->causal && j > p) return 0;
  if (call->window_left >= 0 && j < p - call->window_left) return 0;
  if (call->window_right >= 0 && j > p + call->window_right) return 0;
  return call->keep.data == NULL || ((const uint8_t*)call->keep.data)[place(call->keep.strides, b, h, i, j)];
}

static void attend(const qkv_check_call* call, int64_t b, int64_t h, int64_t i) {
  const int64_t kv = h / (call->query_heads / call->kv_heads);
  float score[kMostKeys], largest = call->sinks != NULL ? (float)call->sinks[h] : -INFINITY;
  for (int64_t j = 0; j < call->key_length; ++j) {
    score[j] = -INFINITY;
    if (!is_seen(call, b, h, i, j)) continue;
    float dot = 0;
    for (int64_t c = 0; c < call->width; ++c) dot += element(&call->q, b, h, i, c) * element(&call->k, b, kv, j, c);
    score[j] = (float)call->scale * dot;
    if (call->softcap > 0) score[j] = (float)call->softcap * tanhf(score[j] / (float)call->softcap);
    if (call->bias.data != NULL) score[j] += element(&call->bias, b, h, i, j);
    largest = fmaxf(largest, score[j]);
  }
  float sum = call->sinks != NULL ? expf((float)call->sinks[h] - largest) : 0;
  for (int64_t j = 0; j < call->key_length; ++j) {
    score[j] = score[j] == -INFINITY ? 0 : expf(score[j] - largest);
    sum += score[j];
  }
  for (int64_t c = 0; c < call->value_width; ++c) {
    float total = 0;
    for (int64_t j = 0; j < call->key_length; ++j)
      if (score[j] > 0) total += score[j] * element(&call->v, b, kv, j, c);
    ((float*)call->o.data)[place(call->o.strides, b, h, i, c)] = sum > 0 ? total / sum : 0;
  }
  if (call->lse.data != NULL)
    ((float*)call->lse.data)[place(call->lse.strides, b, h, i, 0)] = sum > 0 ? largest + logf(sum) : -INFINITY;
}

int plain_attention(const qkv_check_call* call) {
  if (call->uses & ~kSupported || call->dtype != QKV_CHECK_F32 || call->key_length > kMostKeys)
    return QKV_CHECK_UNSUPPORTED;
  for (int64_t b = 0; b < call->batch; ++b)
    for (int64_t h = 0; h < call->query_heads; ++h)
      for (int64_t i = 0; i < call->query_length; ++i) attend(call, b, h, i);
  return QKV_CHECK_DONE;
}
