// What `qkv check ./libmine.so:my_attention` calls: one C function that computes attention.
//
// This file needs no other: copy it beside the function. C11 and C++.
//
//   int my_attention(const qkv_check_call* call) {
//     if (call->uses & ~(QKV_CHECK_USES_CAUSAL | QKV_CHECK_USES_GROUPS)) return QKV_CHECK_UNSUPPORTED;
//     if (call->dtype != QKV_CHECK_F32) return QKV_CHECK_UNSUPPORTED;
//     ...  // read call->q, call->k, call->v; write call->o
//     return QKV_CHECK_DONE;
//   }
//
// The function runs in a process of its own, and may crash, hang or print there. What it must do is in
// docs/semantics.md of qkv: o = softmax(scale q kT + ...) v, and for the gradients L = sum(d_o o) + sum(d_lse lse).
#ifndef QKV_CHECK_ABI_H_
#define QKV_CHECK_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define QKV_CHECK_ENUM : int  // any number that C hands over is a value then
extern "C" {
#else
#define QKV_CHECK_ENUM
#endif

// NOLINTBEGIN(modernize-use-using): C has typedef only

// What the function returns. Every other number is an error of its own, and a finding.
enum qkv_check_answer QKV_CHECK_ENUM {
  QKV_CHECK_DONE = 0,
  QKV_CHECK_UNSUPPORTED = 501  // this problem is beyond what the function is for: no mistake
};

typedef enum qkv_check_dtype QKV_CHECK_ENUM {  // the numbers of qkv_dtype in c.h
  QKV_CHECK_F64 = 0,
  QKV_CHECK_F32 = 1,
  QKV_CHECK_BF16 = 2,  // the upper half of an f32
  QKV_CHECK_F16 = 3,   // IEEE binary16
  QKV_CHECK_BOOL = 4   // a byte, 0 or 1
} qkv_check_dtype;

typedef enum qkv_check_corner QKV_CHECK_ENUM {  // where query 0 stands among the keys: its position p_0
  QKV_CHECK_CORNER_UNSET = 0,                   // nothing depends on it
  QKV_CHECK_CORNER_TOP_LEFT = 1,                // 0
  QKV_CHECK_CORNER_BOTTOM_RIGHT = 2,            // Tk - Tq; key_lengths[b] - Tq; of each packed sequence its own
  QKV_CHECK_CORNER_OFFSET = 3                   // call->offset
} qkv_check_corner;

// What a problem uses, as bits of qkv_check_call::uses. A later version of this file adds bits, never changes one: a
// function that refuses every bit it does not know stays right.
enum qkv_check_uses QKV_CHECK_ENUM {
  QKV_CHECK_USES_CAUSAL = 1 << 0,
  QKV_CHECK_USES_WINDOW = 1 << 1,
  QKV_CHECK_USES_KEEP = 1 << 2,
  QKV_CHECK_USES_KEY_MASK = 1 << 3,
  QKV_CHECK_USES_KEY_LENGTHS = 1 << 4,
  QKV_CHECK_USES_PACKED = 1 << 5,  // cu_seqlens
  QKV_CHECK_USES_BIAS = 1 << 6,
  QKV_CHECK_USES_SLOPES = 1 << 7,
  QKV_CHECK_USES_SINKS = 1 << 8,
  QKV_CHECK_USES_SOFTCAP = 1 << 9,
  QKV_CHECK_USES_SCALE = 1 << 10,      // another one than 1/sqrt(D)
  QKV_CHECK_USES_GROUPS = 1 << 11,     // kv_heads < query_heads: head h reads KV head h / (query_heads / kv_heads)
  QKV_CHECK_USES_STRIDES = 1 << 12,    // some tensor does not lie row after row in the order of its shape
  QKV_CHECK_USES_OUT_DTYPE = 1 << 13,  // o is of another type than q
  QKV_CHECK_USES_GRADIENTS = 1 << 14,  // d_o is given and gradients are asked for, beside o
  QKV_CHECK_USES_D_LSE = 1 << 15,
  // qkv check --operation decode: k and v are new tokens, the others lie in the cache
  QKV_CHECK_USES_CACHE = 1 << 16,
  // --operation layer: x is given instead of q, k and v, and y is wanted instead of o
  QKV_CHECK_USES_LAYER = 1 << 17,
  QKV_CHECK_USES_NORM = 1 << 18,    // LayerNorm of x first; alone, without LAYER: --operation layernorm
  QKV_CHECK_USES_FUSED = 1 << 19,   // wqkv instead of wq wk wv
  QKV_CHECK_USES_BIASES = 1 << 20,  // of the projections
  QKV_CHECK_USES_OUTPUT = 1 << 21   // wo, and bo with BIASES; without it y is the merged heads
};

// Strided memory; strides count elements. Axes beyond a tensor's own have extent 1 and stride 0. A tensor that is
// absent has a null pointer. Constraint: memory is aligned to an element and no more (--alignment N asks for more);
// a byte that is no element may be neither read nor written: beyond both ends there are pages that stop the process.
typedef struct qkv_check_input {
  const void* data;
  qkv_check_dtype dtype;
  int64_t shape[4];
  int64_t strides[4];
} qkv_check_input;

typedef struct qkv_check_output {
  void* data;  // holds anything, NaN too: every element is to be written
  qkv_check_dtype dtype;
  int64_t shape[4];
  int64_t strides[4];
} qkv_check_output;

// One problem. Nothing in it may be kept or written, but for what the outputs point to.
typedef struct qkv_check_call {
  size_t struct_size;  // of the caller's struct; a later version appends fields
  int64_t uses;        // qkv_check_uses

  int64_t batch, query_heads, kv_heads;  // B Hq Hkv
  int64_t query_length, key_length;      // Tq Tk
  int64_t width, value_width;            // D Dv
  qkv_check_dtype dtype;                 // of q, k, v and bias

  qkv_check_input q;  // [B,Hq,Tq,D]
  qkv_check_input k;  // [B,Hkv,Tk,D]
  qkv_check_input v;  // [B,Hkv,Tk,Dv]

  double scale;                       // of q.k; always set
  double softcap;                     // 0: none. s = softcap tanh(s / softcap), after the scale, before bias and masks
  int causal;                         // 0 or 1: query i, which stands at p_i = p_0 + i, may see the keys j <= p_i
  int64_t window_left, window_right;  // and those with p_i - left <= j <= p_i + right; -1: open
  qkv_check_corner corner;
  int64_t offset;  // with QKV_CHECK_CORNER_OFFSET

  qkv_check_input keep;         // bool, 1: may be seen. [B,Hq,Tq,Tk]; an axis of extent 1 has stride 0 and serves all
  qkv_check_input key_mask;     // bool, 1: may be seen. [B,Tk]
  qkv_check_input bias;         // added to s; -inf hides the key. Broadcast as keep is
  const int64_t* key_lengths;   // [B]
  const int64_t* cu_seqlens_q;  // [sequences + 1] in a batch of 1: where each begins, and the end
  const int64_t* cu_seqlens_k;  // [sequences + 1]
  int64_t sequences;
  const double* slopes;  // [Hq] ALiBi: s - slope |p_i - j|
  const double* sinks;   // [Hq] a logit that joins the sum and carries no value

  qkv_check_input d_o;    // [B,Hq,Tq,Dv] of o's type
  qkv_check_input d_lse;  // [B,Hq,Tq] of lse's type

  qkv_check_output o;           // [B,Hq,Tq,Dv]
  qkv_check_output lse;         // [B,Hq,Tq] f32 (f64 for f64), natural; one that is left alone is not judged
  qkv_check_output dq, dk, dv;  // shapes of q, k, v, of o's type
  qkv_check_output dbias;       // bias's own shape: summed over the axes that it serves
  qkv_check_output dsinks;      // [Hq] f32 (f64 for f64)

  // With USES_CACHE. Tq = query_length tokens are new: k is [B,Hkv,Tq,D], v [B,Hkv,Tq,Dv]. Entry b holds
  // cache_lengths[b] tokens; the new ones belong into the slots behind them, and what lies further back is no token and
  // may not be read. Query i stands at cache_lengths[b] + i: causal is 1, the corner the bottom right one, and keep,
  // key_mask and bias have Tk = key_length slots.
  qkv_check_output cache_k, cache_v;  // [B,Hkv,Tk,D] [B,Hkv,Tk,Dv], read and written
  const int64_t* cache_lengths;       // [B] before the step

  // With USES_LAYER: y = merge(attention(split(u wq + bq), split(u wk + bk), split(u wv + bv))) wo + bo. With USES_NORM
  // u = (x - mean) / sqrt(var + eps) gamma + beta over the channels, var the biased one; else u = x. Alone y = u.
  int64_t channels, out_channels;  // C, Cout
  double eps;
  qkv_check_input x;                   // [B,T,C], T = query_length = key_length
  qkv_check_input gamma, beta;         // [C]
  qkv_check_input wq, wk, wv;          // [C,Hq D] [C,Hkv D] [C,Hkv Dv]: head h has the columns h D to h D + D - 1
  qkv_check_input bq, bk, bv;          // as wide as their matrix
  qkv_check_input wqkv, bqkv;          // [C,Hq D + Hkv D + Hkv Dv]: the columns of wq, then of wk, then of wv
  qkv_check_input wo, bo;              // [Hq Dv,Cout] [Cout]
  qkv_check_input d_y;                 // as y
  qkv_check_output y;                  // [B,T,Cout]; without wo [B,T,Hq Dv]; of a layernorm [B,T,C]
  qkv_check_output dx, dgamma, dbeta;  // of what they are the gradient of, shape and type
  qkv_check_output dwq, dwk, dwv, dbq, dbk, dbv;
  qkv_check_output dwqkv, dbqkv, dwo, dbo;
} qkv_check_call;

// The function, under any name. Constraint: C linkage (extern "C" in C++), exported by the shared library.
typedef int (*qkv_check_function)(const qkv_check_call* call);

// NOLINTEND(modernize-use-using)

#ifdef __cplusplus
}
#endif

#endif  // QKV_CHECK_ABI_H_
