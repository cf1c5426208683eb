// What a call computes (scale, masks, bias ...) and how it is executed (threads, target, progress).
#ifndef QKV_OPTIONS_H_
#define QKV_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "qkv/target.h"
#include "qkv/tensor.h"
#include "qkv/workspace.h"

#pragma GCC visibility push(default)
namespace qkv {

enum class Causality : std::uint8_t {
  kNone,
  kCausal,  // query i, standing at position p = i + offset, may see keys j <= p
};

// Where query 0 stands among the keys. It matters to everything that depends on positions (causal, window, slopes) and
// is never guessed: with Tq != Tk (or key lengths, or packed sequences of unequal lengths) kUnset is an error.
enum class Corner : std::uint8_t {
  kUnset,
  kTopLeft,      // offset 0: PyTorch; ONNX without a cache
  kBottomRight,  // offset Tk - Tq (key_lengths[b] - Tq; per packed sequence): FlashAttention, MLX, decode
  kOffset,       // AttentionOptions::offset
};

// Keys that a query may see by distance: p - left <= j <= p + right, both ends included; -1 leaves a side open.
struct Window {
  std::int64_t left = -1;
  std::int64_t right = -1;
  friend bool operator==(const Window&, const Window&) = default;
};

// Everything that changes the result. Masks combine: a key is seen only if every one of them allows it.
//
//   s = scale q.k;  s = softcap tanh(s / softcap);  s = s + bias - slope |p - j|;  p = exp(s - lse) where allowed
//
// Shapes: bias, keep  up to [B,Hq,Tq,Tk], broadcast from the right as NumPy does
//         key_mask    [B,Tk]            key_lengths  [B]              slopes, sinks [Hq]
//         cu_seqlens_q [n+1], cu_seqlens_k [n+1]: packed sequences in a batch of 1, from 0 to Tq and to Tk
// Views and spans are read during the call only.
struct AttentionOptions {
  std::optional<double> scale;    // default 1/sqrt(D); any finite value, zero and negative too
  std::optional<double> softcap;  // > 0
  Causality causality = Causality::kNone;
  Window window;
  Corner corner = Corner::kUnset;
  std::int64_t offset = 0;  // read with Corner::kOffset only

  View<const void> keep;      // bool or u8 of 0 and 1; true = may be seen
  View<const void> key_mask;  // bool or u8 of 0 and 1; true = may be seen
  View<const void> bias;      // floating; added after the scale; -inf hides the key, a finite value never does

  std::span<const std::int64_t> key_lengths;
  std::span<const std::int64_t> cu_seqlens_q;
  std::span<const std::int64_t> cu_seqlens_k;
  std::span<const double> slopes;  // ALiBi
  std::span<const double> sinks;   // one logit a head that joins the softmax's sum and carries no value
};

// The published ALiBi slopes: for a power of two n, the geometric series 2^(-8 k / n), k = 1..n; for other numbers of
// heads that of the next smaller power of two, then every other slope of the next larger one. Empty for heads <= 0.
// Source: Press, Smith and Lewis 2022 (arXiv:2108.12409) and the code published with it.
std::vector<double> alibi_slopes(std::int64_t heads);

// Called between tasks, from the calling thread or a worker but never from two at once. Returning false stops the call.
// Constraint: throws nothing. The library is not made to be unwound: an exception on a worker's thread may end the
// program, and one on the calling thread leaves the outputs partly written. To stop a call, keep the exception, return
// false and throw it after the call.
using Progress = std::function<bool(std::int64_t done, std::int64_t total)>;

// Somebody else's threads: calls body(worker) once for every worker in [0, workers), at once or one after the other,
// and returns when all have returned. Constraint: body is called by no thread after that, and the executor throws
// nothing: workers that still run would go on in memory that the call has left.
using Executor = std::function<void(int workers, const std::function<void(int worker)>& body)>;

// How a call is executed; never changes a bit of the result (except `target`, within the bound of docs/semantics.md).
struct Execution {
  int threads = 0;  // 0: QKV_THREADS of the environment, else as many as the machine gives; 1: the calling thread only
  Target target = Target::kAuto;
  Progress progress = {};
  Executor executor = {};          // empty: the library's own threads
  Workspace* workspace = nullptr;  // null: one that the calling thread keeps
};

}  // namespace qkv
#pragma GCC visibility pop

#endif  // QKV_OPTIONS_H_
