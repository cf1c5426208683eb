// A decode step behind the checker's interface, and one with a mistake that was made in public (docs/check.md).
//
//   cc -O2 -shared -fPIC -Iinclude examples/check/decode.c -o build/libdecode.so -lm
//   build/qkv check build/libdecode.so:decode_one_slot_late --operation decode
#include <math.h>
#include <string.h>

#include "qkv/check_abi.h"

enum { kMost = 1024 };  // keys of a row

static float* row(void* data, const int64_t* strides, int64_t b, int64_t h, int64_t i) {
  return (float*)data + b * strides[0] + h * strides[1] + i * strides[2];
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

// Writes the new tokens `late` slots too far and attends to as many slots as there are tokens.
static int decode(const qkv_check_call* call, int64_t late) {
  const int64_t supported = QKV_CHECK_USES_CACHE | QKV_CHECK_USES_CAUSAL | QKV_CHECK_USES_GROUPS |
                            QKV_CHECK_USES_SCALE | QKV_CHECK_USES_STRIDES;
  if (call->uses & ~supported || call->dtype != QKV_CHECK_F32 || call->key_length > kMost) return QKV_CHECK_UNSUPPORTED;
  const int64_t group = call->query_heads / call->kv_heads, slots = call->key_length;
  for (int64_t b = 0; b < call->batch; ++b)
    for (int64_t h = 0; h < call->kv_heads; ++h) {
      float* keys = row(call->cache_k.data, call->cache_k.strides, b, h, 0);
      float* values = row(call->cache_v.data, call->cache_v.strides, b, h, 0);
      for (int64_t t = 0; t < call->query_length; ++t) {
        const int64_t slot = call->cache_lengths[b] + t + late;
        if (slot >= slots) continue;
        memcpy(keys + slot * call->width, row((void*)call->k.data, call->k.strides, b, h, t),
               (size_t)call->width * sizeof *keys);
        memcpy(values + slot * call->value_width, row((void*)call->v.data, call->v.strides, b, h, t),
               (size_t)call->value_width * sizeof *values);
      }
      for (int64_t g = 0; g < group; ++g)
        for (int64_t i = 0; i < call->query_length; ++i) {
          const int64_t head = h * group + g;
          attend(call, row((void*)call->q.data, call->q.strides, b, head, i), keys, call->width, values,
                 call->value_width, call->cache_lengths[b] + i + 1, row(call->o.data, call->o.strides, b, head, i));
        }
    }
  return QKV_CHECK_DONE;
}

int my_decode(const qkv_check_call* call) { return decode(call, 0); }
int decode_one_slot_late(const qkv_check_call* call) { return decode(call, 1); }
