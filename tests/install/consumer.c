// A C program that uses an installed qkv: one attention, one mistake.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "qkv/c.h"
#include "qkv/c_layer.h"

int main(void) {
  float q[2] = {1, 0}, k[2] = {0, 0}, v[2] = {1, 3}, o[1] = {0};
  const int64_t one[4] = {1, 1, 1, 1}, two[4] = {1, 1, 2, 1};
  const qkv_tensor tq = qkv_contiguous(q, QKV_F32, 4, one), tk = qkv_contiguous(k, QKV_F32, 4, two);
  const qkv_tensor tv = qkv_contiguous(v, QKV_F32, 4, two), to = qkv_contiguous(o, QKV_F32, 4, one);
  qkv_attention_forward_args args = QKV_ATTENTION_FORWARD_ARGS_INIT;
  args.q = &tq;
  args.k = &tk;
  args.v = &tv;
  args.o = &to;
  if (qkv_attention_forward(&args, NULL, NULL, NULL) != QKV_OK || fabsf(o[0] - 2) > 1e-6f) {
    printf("o = %g: %s\n", o[0], qkv_last_error());
    return 1;
  }
  args.v = NULL;
  if (qkv_attention_forward(&args, NULL, NULL, NULL) != QKV_INVALID_ARGUMENT) return 2;
  if (strcmp(qkv_last_error(), "attention_forward: v is null") != 0) return 3;
  qkv_layer_forward_args layer = QKV_LAYER_FORWARD_ARGS_INIT;
  if (qkv_layer_forward(&layer, NULL, NULL, NULL) != QKV_INVALID_ARGUMENT) return 4;
  printf("qkv %s from C\n", qkv_version());
  return 0;
}
