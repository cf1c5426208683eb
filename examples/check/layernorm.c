// A LayerNorm behind the checker's interface, and one with two mistakes that were made in public (docs/check.md).
//
//   cc -O2 -shared -fPIC -Iinclude examples/check/layernorm.c -o build/libnorm.so -lm
//   build/qkv check build/libnorm.so:norm_of_the_book --operation layernorm
#include <math.h>
#include <stdbool.h>

#include "qkv/check_abi.h"

// y = (x - mean) / sigma gamma + beta.
static void normalise(const qkv_check_call* call, const float* x, float* y, bool is_of_the_book) {
  const int64_t n = call->channels;
  float mean = 0, variance = 0;
  for (int64_t c = 0; c < n; ++c) mean += x[c] / (float)n;
  for (int64_t c = 0; c < n; ++c) variance += (x[c] - mean) * (x[c] - mean);
  // The book's: torch.std divides by n - 1, and eps is added to what comes.
  const float sigma = is_of_the_book ? sqrtf(variance / (float)(n - 1)) + (float)call->eps
                                     : sqrtf(variance / (float)n + (float)call->eps);
  const float *gamma = call->gamma.data, *beta = call->beta.data;
  for (int64_t c = 0; c < n; ++c) y[c] = (x[c] - mean) / sigma * gamma[c] + beta[c];
}

static int layernorm(const qkv_check_call* call, bool is_of_the_book) {
  if (call->uses != QKV_CHECK_USES_NORM || call->dtype != QKV_CHECK_F32) return QKV_CHECK_UNSUPPORTED;
  for (int64_t token = 0; token < call->batch * call->query_length; ++token)
    normalise(call, (const float*)call->x.data + token * call->channels, (float*)call->y.data + token * call->channels,
              is_of_the_book);
  return QKV_CHECK_DONE;
}

int my_layernorm(const qkv_check_call* call) { return layernorm(call, false); }
int norm_of_the_book(const qkv_check_call* call) { return layernorm(call, true); }
