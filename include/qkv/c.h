// Attention from C11 and whatever can call C: the same operations, options and messages as the C++ headers.
//
// Every function that can fail answers a qkv_status; qkv_last_error() is the sentence. No exception crosses. A struct
// begins with its size, so that a program and a newer library agree: begin each with its QKV_..._INIT, after which a
// field that is left alone means what the C++ default means. A tensor that is absent is a null pointer. What a call
// computes, its shapes, errors and cost stand on the function of the same name in attention.h, decode.h and layer.h.
// Safe to call from many threads at once, each with its own workspace or with none.
#ifndef QKV_C_H_
#define QKV_C_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define QKV_C_API __attribute__((visibility("default")))
#else
#define QKV_C_API
#endif

#ifdef __cplusplus
#define QKV_C_ENUM : int  // any number that C hands over is a value then, right or wrong
extern "C" {
#else
#define QKV_C_ENUM
#endif

// NOLINTBEGIN(modernize-use-using): C has typedef only

typedef enum qkv_status QKV_C_ENUM {
  QKV_OK = 0,
  QKV_INVALID_ARGUMENT = 1,  // a value outside its domain, an option that contradicts another
  QKV_SHAPE_MISMATCH = 2,    // a tensor whose shape, type or memory does not fit the others
  QKV_UNSUPPORTED = 3,       // legal, but not on this machine or in this build
  QKV_OUT_OF_MEMORY = 6,
  QKV_CANCELLED = 7,  // the progress callback asked to stop
  QKV_UNKNOWN = 100   // a callback threw, or a fault of the library
} qkv_status;

typedef enum qkv_dtype QKV_C_ENUM {
  QKV_F64 = 0,
  QKV_F32 = 1,
  QKV_BF16 = 2,  // the upper half of an f32
  QKV_F16 = 3,   // IEEE binary16
  QKV_BOOL = 4,
  QKV_U8 = 5,
  QKV_I32 = 6,
  QKV_I64 = 7
} qkv_dtype;

typedef enum qkv_target QKV_C_ENUM {  // see Target in target.h
  QKV_TARGET_AUTO = 0,
  QKV_TARGET_PORTABLE = 1,
  QKV_TARGET_AVX2 = 2,
  QKV_TARGET_AVX512 = 3,
  QKV_TARGET_AVX512_BF16 = 4,
  QKV_TARGET_NEON = 5,
  QKV_TARGET_WASM = 6
} qkv_target;

typedef enum qkv_corner QKV_C_ENUM {  // where query 0 stands among the keys; see Corner in options.h
  QKV_CORNER_UNSET = 0,
  QKV_CORNER_TOP_LEFT = 1,
  QKV_CORNER_BOTTOM_RIGHT = 2,
  QKV_CORNER_OFFSET = 3
} qkv_corner;

// Strided memory of the caller's; strides count elements. Only the first `rank` extents and strides are read.
typedef struct qkv_tensor {
  void* data;
  qkv_dtype dtype;
  int rank;  // 0 to 4
  int64_t shape[4];
  int64_t strides[4];
} qkv_tensor;

// A row-major tensor. Constraint: 0 <= rank <= 4; `shape` has that many extents.
QKV_C_API qkv_tensor qkv_contiguous(void* data, qkv_dtype dtype, int rank, const int64_t* shape);

// What a call computes; see AttentionOptions in options.h.
// Shapes: keep and bias broadcast to [B,Hq,Tq,Tk], key_mask [B,Tk]; key_lengths [B], slopes and sinks [Hq], cu_seqlens
//   one more than there are sequences. Read during the call only.
// Errors: QKV_INVALID_ARGUMENT for what would be ignored: a list with a count of 0, scale without has_scale, offset
//   without QKV_CORNER_OFFSET, a corner without causal, a window or slopes (decode has one of its own).
typedef struct qkv_attention_options {
  size_t struct_size;
  bool has_scale;  // else 1/sqrt(D)
  double scale;
  double softcap;  // 0: none
  bool causal;
  int64_t window_left, window_right;  // -1: open
  qkv_corner corner;
  int64_t offset;  // with QKV_CORNER_OFFSET
  const qkv_tensor *keep, *key_mask, *bias;
  const int64_t* key_lengths;
  size_t key_lengths_count;
  const int64_t *cu_seqlens_q, *cu_seqlens_k;
  size_t cu_seqlens_q_count, cu_seqlens_k_count;
  const double *slopes, *sinks;
  size_t slopes_count, sinks_count;
} qkv_attention_options;
// clang-format off
#define QKV_ATTENTION_OPTIONS_INIT \
  {sizeof(qkv_attention_options), false, 0, 0, false, -1, -1, QKV_CORNER_UNSET, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
// clang-format on

// Scratch that calls reuse, one call at a time; see workspace.h. Null where there is no memory for the handle.
typedef struct qkv_workspace qkv_workspace;
QKV_C_API qkv_workspace* qkv_workspace_create(void);                           // grows to the largest call
QKV_C_API qkv_workspace* qkv_workspace_create_in(void* memory, size_t bytes);  // the caller's memory, never more
QKV_C_API size_t qkv_workspace_capacity(const qkv_workspace* workspace);       // bytes; 0 for null
QKV_C_API void qkv_workspace_destroy(qkv_workspace* workspace);                // null is allowed

// How a call is executed; see Execution in options.h.
typedef struct qkv_execution {
  size_t struct_size;
  int threads;  // 0: all; 1: the calling thread only
  qkv_target target;
  // Called between tasks, never from two threads at once; false stops the call.
  bool (*progress)(void* user, int64_t done, int64_t total);
  void* progress_user;
  // The caller's threads: calls body(context, worker) once for every worker in [0, workers), at once or one after the
  // other, and returns when all have returned.
  void (*executor)(void* user, int workers, void (*body)(void* context, int worker), void* context);
  void* executor_user;
  qkv_workspace* workspace;  // null: one that the calling thread keeps
} qkv_execution;
#define QKV_EXECUTION_INIT {sizeof(qkv_execution), 0, QKV_TARGET_AUTO, 0, 0, 0, 0, 0}

// What a call did; see Report in attention.h.
typedef struct qkv_report {
  size_t struct_size;
  qkv_target target;
  int threads;
  int64_t tasks;
  double flops;
  size_t scratch_bytes;
} qkv_report;
#define QKV_REPORT_INIT {sizeof(qkv_report), QKV_TARGET_AUTO, 0, 0, 0, 0}

// In every call options, execution and report may be null, and then mean the defaults, or nothing to report.
// Errors of every call: QKV_INVALID_ARGUMENT (an option or an enumerator out of its domain, a null that is required, a
//   struct_size below the smallest), QKV_SHAPE_MISMATCH, QKV_UNSUPPORTED (the target; a struct that uses what this
//   library does not know), QKV_OUT_OF_MEMORY, QKV_CANCELLED, QKV_UNKNOWN. Nothing has been written after the first
//   three.

// Computes o = softmax(scale q kT + ...) v for every batch entry and head, and lse.
typedef struct qkv_attention_forward_args {
  size_t struct_size;
  const qkv_tensor *q, *k, *v;  // [B,Hq,Tq,D], [B,Hkv,Tk,D], [B,Hkv,Tk,Dv]: one type among f64 f32 bf16 f16
  const qkv_tensor* o;          // [B,Hq,Tq,Dv], written: of that type, or f32 for bf16 and f16
  const qkv_tensor* lse;        // [B,Hq,Tq] f32 (f64 for f64), written; may be absent
} qkv_attention_forward_args;
#define QKV_ATTENTION_FORWARD_ARGS_INIT {sizeof(qkv_attention_forward_args), 0, 0, 0, 0, 0}
QKV_C_API qkv_status qkv_attention_forward(const qkv_attention_forward_args* args, const qkv_attention_options* options,
                                           const qkv_execution* execution, qkv_report* report);

// Computes the gradient of sum(d_o o) + sum(d_lse lse) for every input that has somewhere to put it.
typedef struct qkv_attention_backward_args {
  size_t struct_size;
  const qkv_tensor *q, *k, *v;
  const qkv_tensor *o, *lse;         // as the forward call wrote them
  const qkv_tensor *d_o, *d_lse;     // of o and lse; d_lse may be absent
  const qkv_tensor *dq, *dk, *dv;    // of q, k and v, written; an absent one is not computed
  const qkv_tensor *dbias, *dsinks;  // of options.bias, and [Hq]; the same
} qkv_attention_backward_args;
#define QKV_ATTENTION_BACKWARD_ARGS_INIT {sizeof(qkv_attention_backward_args), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
QKV_C_API qkv_status qkv_attention_backward(const qkv_attention_backward_args* args,
                                            const qkv_attention_options* options, const qkv_execution* execution,
                                            qkv_report* report);

// Keys and values of the tokens so far, in the caller's memory; see KeyValueCache in decode.h.
typedef struct qkv_cache {
  size_t struct_size;
  const qkv_tensor *k, *v;        // [B,Hkv,capacity,D] and [...,Dv]; paged: [pages,Hkv,page,D] and [...,Dv]
  const qkv_tensor* block_table;  // [B,max pages] i32 or i64; absent: contiguous
  int64_t* lengths;               // [B] tokens that are there; a call that appends raises them
  size_t lengths_count;
} qkv_cache;
#define QKV_CACHE_INIT {sizeof(qkv_cache), 0, 0, 0, 0, 0}

// Appends new keys and values to the cache, then attends from the last t positions.
typedef struct qkv_attention_decode_args {
  size_t struct_size;
  const qkv_tensor *q, *k, *v;  // [B,Hq,t,D], [B,Hkv,t,D], [B,Hkv,t,Dv]; k and v both absent: only attend
  const qkv_tensor *o, *lse;    // [B,Hq,t,Dv], [B,Hq,t], written; lse may be absent
  const qkv_cache* cache;       // not null
} qkv_attention_decode_args;
#define QKV_ATTENTION_DECODE_ARGS_INIT {sizeof(qkv_attention_decode_args), 0, 0, 0, 0, 0, 0}
QKV_C_API qkv_status qkv_attention_decode(const qkv_attention_decode_args* args, const qkv_attention_options* options,
                                          const qkv_execution* execution, qkv_report* report);

// The sentence of the last call on this thread that failed, "" before one has; valid until the next one.
QKV_C_API const char* qkv_last_error(void);
QKV_C_API const char* qkv_status_name(qkv_status status);  // "shape_mismatch"
QKV_C_API const char* qkv_target_name(qkv_target target);  // "avx512"
QKV_C_API const char* qkv_version(void);                   // of the library that runs: "0.1.0"

// The target that a call would use: `requested`, or for QKV_TARGET_AUTO the environment's QKV_TARGET, or the best there
// is. Errors: QKV_UNSUPPORTED if the machine or the build lacks it, QKV_INVALID_ARGUMENT.
QKV_C_API qkv_status qkv_resolve_target(qkv_target requested, qkv_target* found);

// The published ALiBi slopes of `heads` query heads, into slopes[heads]; see alibi_slopes() in options.h.
QKV_C_API qkv_status qkv_alibi_slopes(int64_t heads, double* slopes);

// NOLINTEND(modernize-use-using)

#ifdef __cplusplus
}
#endif

#endif  // QKV_C_H_
