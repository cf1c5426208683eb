// Four attentions, each with one mistake that was made in public (docs/check.md tells their stories).
//
//   cc -O2 -shared -fPIC -Iinclude examples/check/stories.c -o build/libstories.so -lm
//   build/qkv check build/libstories.so:softcap_after_mask
#include <math.h>
#include <stdbool.h>

#include "qkv/check_abi.h"

enum { kMostKeys = 1024 };
typedef struct story {
  bool softcap_after_mask, mask_inverted, scale_twice, lse_base_2;
} story;

static int64_t offset(const int64_t* step, int64_t b, int64_t h, int64_t i, int64_t c) {
  return b * step[0] + h * step[1] + i * step[2] + c * step[3];
}
static float at(const qkv_check_input* x, int64_t b, int64_t h, int64_t i, int64_t c) {
  return ((const float*)x->data)[offset(x->strides, b, h, i, c)];
}

static float score(const qkv_check_call* call, story made, int64_t b, int64_t h, int64_t i, int64_t j) {
  const int64_t kv = h / (call->query_heads / call->kv_heads);
  const float cap = (float)call->softcap;
  float s = 0;
  for (int64_t c = 0; c < call->width; ++c) s += at(&call->q, b, h, i, c) * at(&call->k, b, kv, j, c);
  s *= (float)call->scale;
  if (made.scale_twice) s *= (float)call->scale;
  if (cap > 0 && !made.softcap_after_mask) s = cap * tanhf(s / cap);
  const unsigned char* keep = call->keep.data;
  if (keep && (keep[offset(call->keep.strides, b, h, i, j)] != 0) == made.mask_inverted) s = -INFINITY;
  if (cap > 0 && made.softcap_after_mask) s = cap * tanhf(s / cap);  // -inf becomes -cap, which has a weight
  return s;
}

static void attend(const qkv_check_call* call, story made, int64_t b, int64_t h, int64_t i) {
  float p[kMostKeys], largest = -INFINITY, sum = 0;
  for (int64_t j = 0; j < call->key_length; ++j) largest = fmaxf(largest, p[j] = score(call, made, b, h, i, j));
  for (int64_t j = 0; j < call->key_length; ++j) sum += p[j] = isinf(p[j]) ? 0 : expf(p[j] - largest);
  float* o = (float*)call->o.data + offset(call->o.strides, b, h, i, 0);
  const int64_t kv = h / (call->query_heads / call->kv_heads);
  for (int64_t c = 0; c < call->value_width; ++c) {
    float total = 0;
    for (int64_t j = 0; j < call->key_length; ++j)
      if (p[j] > 0) total += p[j] * at(&call->v, b, kv, j, c);
    o[c * call->o.strides[3]] = sum > 0 ? total / sum : 0;
  }
  if (!call->lse.data) return;
  const float lse = sum > 0 ? largest + logf(sum) : -INFINITY;
  ((float*)call->lse.data)[offset(call->lse.strides, b, h, i, 0)] = made.lse_base_2 ? lse * 1.44269504f : lse;
}

static int attention(const qkv_check_call* call, story made) {
  const int64_t supported = QKV_CHECK_USES_KEEP | QKV_CHECK_USES_GROUPS | QKV_CHECK_USES_SCALE |
                            QKV_CHECK_USES_STRIDES | QKV_CHECK_USES_SOFTCAP;
  if (call->uses & ~supported || call->dtype != QKV_CHECK_F32 || call->key_length > kMostKeys)
    return QKV_CHECK_UNSUPPORTED;
  for (int64_t b = 0; b < call->batch; ++b)
    for (int64_t h = 0; h < call->query_heads; ++h)
      for (int64_t i = 0; i < call->query_length; ++i) attend(call, made, b, h, i);
  return QKV_CHECK_DONE;
}

int softcap_after_mask(const qkv_check_call* call) { return attention(call, (story){.softcap_after_mask = true}); }
int mask_inverted(const qkv_check_call* call) { return attention(call, (story){.mask_inverted = true}); }
int scale_twice(const qkv_check_call* call) { return attention(call, (story){.scale_twice = true}); }
int lse_base_2(const qkv_check_call* call) { return attention(call, (story){.lse_base_2 = true}); }
