// Attention of a few new queries against a cache of keys and values that grows.
#ifndef QKV_DECODE_H_
#define QKV_DECODE_H_

#include <cstdint>
#include <span>

#include "qkv/attention.h"
#include "qkv/options.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

#pragma GCC visibility push(default)
namespace qkv {

// Keys and values of the tokens so far, in the caller's memory.
//
//   contiguous   k [B,Hkv,capacity,D]      v [B,Hkv,capacity,Dv]
//   paged        k [P,Hkv,page,D]          v [P,Hkv,page,Dv]      block_table [B,max pages], i32 or i64: token j of
//                batch b lies in slot j % page of page block_table[b][j / page]; entries past the length are not read
//   lengths [B]  tokens that are there; attention_decode raises them. Slots past the length are never read.
// Any strides; the last one is 1 in fast calls.
struct KeyValueCache {
  View<void> k, v;
  View<const void> block_table;  // absent: contiguous
  std::span<std::int64_t> lengths;
};

struct DecodeInputs {
  View<const void> q;     // [B,Hq,t,D]
  View<const void> k, v;  // [B,Hkv,t,D], [B,Hkv,t,Dv]: the new tokens, appended first; both absent: only attend
};

// Appends the new keys and values to the cache, then attends: query i of batch b stands at position length_b − t + i
// (the bottom-right corner, lengths after the append) and sees what stands there and before.
//
// Shapes: q [B,Hq,t,D] of the cache's type among f64 f32 bf16 f16; o [B,Hq,t,Dv] of it or f32; lse [B,Hq,t] f32 (f64).
//   In `options`, Tk of masks and biases is capacity, or max pages · page.
// Constraints: t >= 1; Hq % Hkv == 0; q, k, v, o, lse and the cache share no memory; no page is
//   named for two tokens that are written.
// Errors: as attention_forward; kInvalidArgument for a cache without room (the message names batch, length, capacity),
//   a page number out of range, key_lengths or cu_seqlens (the cache has lengths), a corner other than bottom_right.
//   On an error neither the tokens in the cache nor lengths nor outputs have changed (but for kCancelled: o is then
//   partly written).
// Numerics: as attention_forward; prefill and then decode gives the rows of one forward, within its bound.
// Cost: reads K and V once for all query heads of a group; keys are split into a number of chunks that depends on the
//   shape only, and merged in order: the same bits for any thread count. A warm call allocates nothing.
// Source: split keys: Dao et al. 2023 (Flash-Decoding); pages: Kwon et al. 2023 (arXiv:2309.06180).
Result<Report> attention_decode(const DecodeInputs& inputs, const KeyValueCache& cache, const AttentionOutputs& outputs,
                                const AttentionOptions& options = {}, const Execution& execution = {});

}  // namespace qkv
#pragma GCC visibility pop

#endif  // QKV_DECODE_H_
