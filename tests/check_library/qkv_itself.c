// qkv behind the checker's interface: it refuses nothing, so that every option of a problem goes through both.
#include <stdlib.h>

#include "qkv/c.h"
#include "qkv/check_abi.h"

static qkv_tensor tensor_of(const void* data, qkv_check_dtype dtype, int rank, const int64_t* shape,
                            const int64_t* strides) {
  qkv_tensor tensor = {(void*)data, (qkv_dtype)dtype, rank, {0}, {0}};  // NOLINT: an input is only read
  for (int axis = 0; axis < rank; ++axis) {
    tensor.shape[axis] = shape[axis];
    tensor.strides[axis] = strides[axis];
  }
  return tensor;
}

// For one call: a tensor that is absent becomes a null pointer.
#define TENSOR(field, rank)                                                                         \
  const qkv_tensor field##_view =                                                                   \
      tensor_of(call->field.data, call->field.dtype, rank, call->field.shape, call->field.strides); \
  const qkv_tensor* const field = call->field.data != NULL ? &field##_view : NULL

int qkv_itself(const qkv_check_call* call) {
  TENSOR(q, 4);
  TENSOR(k, 4);
  TENSOR(v, 4);
  TENSOR(keep, 4);
  TENSOR(key_mask, 2);
  TENSOR(bias, 4);
  TENSOR(d_o, 4);
  TENSOR(d_lse, 3);
  TENSOR(o, 4);
  TENSOR(lse, 3);
  TENSOR(dq, 4);
  TENSOR(dk, 4);
  TENSOR(dv, 4);
  TENSOR(dbias, 4);
  TENSOR(dsinks, 1);
  TENSOR(cache_k, 4);
  TENSOR(cache_v, 4);
  const size_t batch = (size_t)call->batch, heads = (size_t)call->query_heads, ends = (size_t)call->sequences + 1;
  const int has_positions = call->causal || call->window_left >= 0 || call->window_right >= 0 || call->slopes != NULL;

  if (call->uses & (QKV_CHECK_USES_LAYER | QKV_CHECK_USES_NORM)) return QKV_CHECK_UNSUPPORTED;
  qkv_attention_options options = QKV_ATTENTION_OPTIONS_INIT;
  options.has_scale = true;
  options.scale = call->scale;
  options.softcap = call->softcap;
  options.causal = call->causal != 0;
  options.window_left = call->window_left;
  options.window_right = call->window_right;
  options.corner = has_positions ? (qkv_corner)call->corner : QKV_CORNER_UNSET;
  options.offset = call->offset;
  options.keep = keep;
  options.key_mask = key_mask;
  options.bias = bias;
  options.key_lengths = call->key_lengths;
  options.key_lengths_count = call->key_lengths != NULL ? batch : 0;
  options.cu_seqlens_q = call->cu_seqlens_q;
  options.cu_seqlens_k = call->cu_seqlens_k;
  options.cu_seqlens_q_count = options.cu_seqlens_k_count = call->cu_seqlens_q != NULL ? ends : 0;
  options.slopes = call->slopes;
  options.slopes_count = call->slopes != NULL ? heads : 0;
  options.sinks = call->sinks;
  options.sinks_count = call->sinks != NULL ? heads : 0;

  if (call->uses & QKV_CHECK_USES_CACHE) {
    int64_t lengths[16];
    for (size_t b = 0; b < batch; ++b) lengths[b] = call->cache_lengths[b];
    qkv_cache cache = QKV_CACHE_INIT;
    cache.k = cache_k;
    cache.v = cache_v;
    cache.lengths = lengths;
    cache.lengths_count = batch;
    qkv_attention_decode_args decode = QKV_ATTENTION_DECODE_ARGS_INIT;
    decode.q = q;
    decode.k = k;
    decode.v = v;
    decode.o = o;
    decode.lse = lse;
    decode.cache = &cache;
    return (int)qkv_attention_decode(&decode, &options, NULL, NULL);
  }

  qkv_attention_forward_args forward = QKV_ATTENTION_FORWARD_ARGS_INIT;
  forward.q = q;
  forward.k = k;
  forward.v = v;
  forward.o = o;
  forward.lse = lse;
  const qkv_status status = qkv_attention_forward(&forward, &options, NULL, NULL);
  if (status != QKV_OK || !(call->uses & QKV_CHECK_USES_GRADIENTS)) return (int)status;

  qkv_attention_backward_args backward = QKV_ATTENTION_BACKWARD_ARGS_INIT;
  backward.q = q;
  backward.k = k;
  backward.v = v;
  backward.o = o;
  backward.lse = lse;
  backward.d_o = d_o;
  backward.d_lse = d_lse;
  backward.dq = dq;
  backward.dk = dk;
  backward.dv = dv;
  backward.dbias = dbias;
  backward.dsinks = dsinks;
  return (int)qkv_attention_backward(&backward, &options, NULL, NULL);
}
