// A cache that grows token by token, from C: the keys and values of the tokens so far are read, never recomputed.
#include <math.h>
#include <stdio.h>

#include "qkv/c.h"

enum { kTokens = 6, kWidth = 4, kCapacity = 8 };

int main(void) {
  float cache_k[kCapacity * kWidth], cache_v[kCapacity * kWidth];  // the caller's memory
  const int64_t cache_shape[] = {1, 1, kCapacity, kWidth}, token_shape[] = {1, 1, 1, kWidth};
  const qkv_tensor tk = qkv_contiguous(cache_k, QKV_F32, 4, cache_shape);
  const qkv_tensor tv = qkv_contiguous(cache_v, QKV_F32, 4, cache_shape);
  int64_t length = 0;
  qkv_cache cache = QKV_CACHE_INIT;
  cache.k = &tk;
  cache.v = &tv;
  cache.lengths = &length;
  cache.lengths_count = 1;

  for (int token = 0; token < kTokens; ++token) {
    float x[kWidth], o[kWidth];
    for (int c = 0; c < kWidth; ++c) x[c] = cosf((float)(token * (c + 1)));  // stands for q, k and v alike
    const qkv_tensor tx = qkv_contiguous(x, QKV_F32, 4, token_shape);
    const qkv_tensor to = qkv_contiguous(o, QKV_F32, 4, token_shape);
    qkv_attention_decode_args args = QKV_ATTENTION_DECODE_ARGS_INIT;
    args.q = args.k = args.v = &tx;  // appended, then seen
    args.o = &to;
    args.cache = &cache;
    if (qkv_attention_decode(&args, NULL, NULL, NULL) != QKV_OK) {
      fprintf(stderr, "%s\n", qkv_last_error());
      return 1;
    }
    printf("token %d of %d: %7.4f %7.4f %7.4f %7.4f\n", token, (int)length, o[0], o[1], o[2], o[3]);
  }
  return length == kTokens ? 0 : 1;
}
