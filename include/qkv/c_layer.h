// The attention layer from C11: what c.h is for attention. See layer.h for formulas, shapes, errors and cost.
#ifndef QKV_C_LAYER_H_
#define QKV_C_LAYER_H_

#include "qkv/c.h"

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(modernize-use-using): C has typedef only

typedef enum qkv_norm QKV_C_ENUM { QKV_NORM_NONE = 0, QKV_NORM_LAYER_NORM = 1 } qkv_norm;

// Shapes: gamma beta [C]; wq [C,Hq*D] wk [C,Hkv*D] wv [C,Hkv*Dv], biases as wide; wqkv [C,(Hq+2*Hkv)*D], bqkv; wo
//   [Hq*Dv,Cout], bo [Cout].
// Absent: gamma means 1, beta and every bias 0, wo no output projection. wqkv and bqkv instead of the six before them.
typedef struct qkv_layer_parameters {
  size_t struct_size;
  const qkv_tensor *gamma, *beta;
  const qkv_tensor *wq, *wk, *wv, *bq, *bk, *bv;
  const qkv_tensor *wqkv, *bqkv;
  const qkv_tensor *wo, *bo;
} qkv_layer_parameters;
#define QKV_LAYER_PARAMETERS_INIT {sizeof(qkv_layer_parameters), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// Written by qkv_layer_backward; an absent one is not computed.
typedef struct qkv_layer_gradients {
  size_t struct_size;
  const qkv_tensor* dx;
  const qkv_tensor *dgamma, *dbeta;
  const qkv_tensor *dwq, *dwk, *dwv, *dbq, *dbk, *dbv;
  const qkv_tensor *dwqkv, *dbqkv;
  const qkv_tensor *dwo, *dbo;
} qkv_layer_gradients;
#define QKV_LAYER_GRADIENTS_INIT {sizeof(qkv_layer_gradients), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

typedef struct qkv_layer_options {
  size_t struct_size;
  int64_t query_heads;
  int64_t kv_heads;  // 0: as many as query_heads
  qkv_norm norm;
  double eps;
  const qkv_attention_options* attention;  // may be null
} qkv_layer_options;
#define QKV_LAYER_OPTIONS_INIT {sizeof(qkv_layer_options), 1, 0, QKV_NORM_LAYER_NORM, 1e-5, 0}

// What the forward pass leaves for the backward pass; see LayerKept in layer.h. All absent: nothing.
typedef struct qkv_layer_kept {
  size_t struct_size;
  const qkv_tensor* qkv;  // [B,T,Hq*D+Hkv*D+Hkv*Dv] of x's type
  const qkv_tensor* o;    // [B,T,Hq*Dv] f32 (f64 for f64)
  const qkv_tensor* lse;  // [B,Hq,T] f32 (f64 for f64)
} qkv_layer_kept;
#define QKV_LAYER_KEPT_INIT {sizeof(qkv_layer_kept), 0, 0, 0}

// Execution and report may be null in every call; options may not: a layer's heads have no default. Errors: as in c.h.

// Computes y = merge(attention(split(u wq + bq), split(u wk + bk), split(u wv + bv))) wo + bo with u = norm(x).
typedef struct qkv_layer_forward_args {
  size_t struct_size;
  const qkv_tensor* x;  // [B,T,C]: one type among f64 f32 bf16 f16 for x, y and parameters
  const qkv_tensor* y;  // [B,T,Cout], or [B,T,Hq*Dv] without wo; written
  const qkv_layer_parameters* parameters;
  const qkv_layer_kept* kept;  // written; may be null
} qkv_layer_forward_args;
#define QKV_LAYER_FORWARD_ARGS_INIT {sizeof(qkv_layer_forward_args), 0, 0, 0, 0}
QKV_C_API qkv_status qkv_layer_forward(const qkv_layer_forward_args* args, const qkv_layer_options* options,
                                       const qkv_execution* execution, qkv_report* report);

// Computes the gradient of sum(d_y y).
typedef struct qkv_layer_backward_args {
  size_t struct_size;
  const qkv_tensor *x, *d_y;  // d_y as y
  const qkv_layer_parameters* parameters;
  const qkv_layer_gradients* gradients;  // written
  const qkv_layer_kept* kept;            // may be null
} qkv_layer_backward_args;
#define QKV_LAYER_BACKWARD_ARGS_INIT {sizeof(qkv_layer_backward_args), 0, 0, 0, 0, 0}
QKV_C_API qkv_status qkv_layer_backward(const qkv_layer_backward_args* args, const qkv_layer_options* options,
                                        const qkv_execution* execution, qkv_report* report);

// The layer on t new tokens after those in the cache.
typedef struct qkv_layer_decode_args {
  size_t struct_size;
  const qkv_tensor* x;  // [B,t,C]
  const qkv_tensor* y;  // [B,t,Cout], written
  const qkv_layer_parameters* parameters;
  const qkv_cache* cache;  // takes in the new tokens' keys and values
} qkv_layer_decode_args;
#define QKV_LAYER_DECODE_ARGS_INIT {sizeof(qkv_layer_decode_args), 0, 0, 0, 0}
QKV_C_API qkv_status qkv_layer_decode(const qkv_layer_decode_args* args, const qkv_layer_options* options,
                                      const qkv_execution* execution, qkv_report* report);

// NOLINTEND(modernize-use-using)

#ifdef __cplusplus
}
#endif

#endif  // QKV_C_LAYER_H_
