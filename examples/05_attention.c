// Attention from C: three queries and keys of width 2, causal, and what a mistake says.
#include <stdio.h>

#include "qkv/c.h"

int main(void) {
  float q[] = {1, 0, 0, 1, 1, 1}, k[] = {1, 0, 0, 1, 1, 1}, v[] = {1, 2, 3}, o[3];
  const int64_t keys[] = {1, 1, 3, 2}, values[] = {1, 1, 3, 1};  // [batch, heads, tokens, width]
  const qkv_tensor tq = qkv_contiguous(q, QKV_F32, 4, keys), tk = qkv_contiguous(k, QKV_F32, 4, keys);
  const qkv_tensor tv = qkv_contiguous(v, QKV_F32, 4, values), to = qkv_contiguous(o, QKV_F32, 4, values);

  qkv_attention_forward_args args = QKV_ATTENTION_FORWARD_ARGS_INIT;
  args.q = &tq;
  args.k = &tk;
  args.v = &tv;
  args.o = &to;
  qkv_attention_options options = QKV_ATTENTION_OPTIONS_INIT;
  options.causal = true;
  if (qkv_attention_forward(&args, &options, NULL, NULL) != QKV_OK) {
    fprintf(stderr, "%s\n", qkv_last_error());
    return 1;
  }
  printf("%.4f %.4f %.4f\n", o[0], o[1], o[2]);  // 1.0000 1.6698 2.2552
  if (o[0] != 1 || o[1] <= 1.5F || o[2] <= 2) return 1;

  options.softcap = -1;
  const qkv_status status = qkv_attention_forward(&args, &options, NULL, NULL);
  printf("%s: %s\n", qkv_status_name(status), qkv_last_error());
  return status == QKV_INVALID_ARGUMENT ? 0 : 1;
}
