// A case of attention as one line of text, the same in the CLI, test names, benchmark rows and bug reports.
#ifndef QKV_PROBLEM_H_
#define QKV_PROBLEM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/options.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

#pragma GCC visibility push(default)
namespace qkv {

enum class Operation : std::uint8_t { kAttention, kDecode, kLayer, kLayerNorm };

enum class Layout : std::uint8_t {
  kBHTD,  // [batch, heads, tokens, width] in memory
  kBTHD,  // [batch, tokens, heads, width] in memory
};

std::string_view to_string(Operation operation);  // "attention" "decode" "layer" "layernorm"
std::string_view to_string(Causality causality);  // "" "causal"
std::string_view to_string(Corner corner);        // "" "top_left" "bottom_right" "offset"
std::string_view to_string(Layout layout);        // "bhtd" "bthd"

// What a layer has around its heads.
struct LayerWords {
  std::int64_t channels = 1;      // C, the width of x
  std::int64_t out_channels = 0;  // Cout, the width of y; 0: no output projection, y is the merged heads
  bool norm = false;              // LayerNorm first, with gamma and beta
  bool fused = false;             // one matrix wqkv instead of wq wk wv
  bool biases = false;            // of every projection
  std::optional<double> eps;      // of the norm; 1e-5 if absent
  double spread = 1;              // of the elements of x,
  double shift = 0;               // to which this is added

  friend bool operator==(const LayerWords&, const LayerWords&) = default;
};

// The shape and the options of a case; tensors are made from `seed` (see src/check/generate.h) or come from files.
//
//   attention B2 H6/2 T3x5 D7/11 causal=bottom_right window=2,0 bf16 seed=7
//
// Words, in the order in which format() writes them (parse takes any order, each once):
//   attention          what is computed; must come first. decode, layer and layernorm: see below
//   B2                 batch
//   H6/2 or H6         query heads / KV heads; one number means both
//   T3x5 or T5         query length x key length; one number means both
//   D7/11 or D7        width of q and k / width of v; one number means both
//
//   causal             causal mask where Tq = Tk (packed sequences: each of them)
//   causal=CORNER      top_left, bottom_right or offset:N (N may be negative)
//   corner=CORNER      the corner of a window or of slopes without causal
//   window=2,0         how far left and right a query sees; -1 = open
//   keep=2x1x3x5       a boolean mask of that shape, which broadcasts to [B,Hq,Tq,Tk] as NumPy does
//   key_mask           a boolean mask [B,Tk]
//   bias=6x3x5         an additive bias of that shape and of the element type; broadcasts too
//   lengths=3,5        key lengths, one a batch
//   cu_q=0,2,3 cu_k=0,2,5   packed sequences: where each begins, and the end
//   slopes sinks       ALiBi slopes, sink logits, one a query head
//   scale=0.5          1/sqrt(D) if absent
//   softcap=30
//
//   f64 f32 bf16 f16   element type; f32 if absent
//   out=f32            result type of a bf16 or f16 case; the element type if absent
//   bthd               memory layout of q, k, v and o; bhtd if absent
//   lse backward dlse  what is asked for beside o: lse, the gradients of a do, and of a dlse too
//   seed=7             0 if absent
//
// decode: the last Tq of the Tk tokens are new, the others lie in a cache; queries stand at the bottom-right corner
// behind a causal mask, which needs no word. lengths=3,5 are the tokens of each batch entry with the new ones.
// layer, whose T and what belongs to scores is as above; no layout, lse or out:
//   C20/11 or C20      width of x / width of y; one number: no output projection
//   norm fused biases  LayerNorm in front; one matrix for q, k and v; biases of the projections
//   eps=1e-3           of the norm; 1e-05 if absent
//   spread=0.003 shift=1000   of the elements of x: their size, and what is added to it
// layernorm: B, T, C20, eps, spread and shift, a type, backward and a seed.
struct Problem {
  Operation operation = Operation::kAttention;
  std::int64_t batch = 1;
  std::int64_t query_heads = 1, kv_heads = 1;
  std::int64_t query_length = 1, key_length = 1;
  std::int64_t width = 1, value_width = 1;

  Causality causality = Causality::kNone;
  Corner corner = Corner::kUnset;
  std::int64_t offset = 0;
  Window window;
  std::optional<Dims> keep;
  bool key_mask = false;
  std::optional<Dims> bias;
  std::vector<std::int64_t> key_lengths, cu_seqlens_q, cu_seqlens_k;
  bool slopes = false, sinks = false;
  std::optional<double> scale, softcap;
  LayerWords layer;

  DType dtype = DType::kF32;
  std::optional<DType> out_dtype;
  Layout layout = Layout::kBHTD;
  bool lse = false, backward = false, dlse = false;
  std::uint64_t seed = 0;

  friend bool operator==(const Problem&, const Problem&) = default;
};

// Reads a line that begins with "attention"; a missing B, H, T or D means 1.
// Errors: kInvalidArgument naming the word that is unknown (with the nearest known one), repeated, malformed, of
// another operation, or in contradiction to another.
Result<Problem> parse_problem(std::string_view text);

// The same of any operation.
Result<Problem> parse_any_problem(std::string_view text);

// Writes the line: B, H, T and D always, the other words where they differ from their default.
// parse_any_problem(format(p)) == p for every p that it accepts.
std::string format(const Problem& problem);

}  // namespace qkv
#pragma GCC visibility pop

#endif  // QKV_PROBLEM_H_
