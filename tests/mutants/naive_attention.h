// Attention as one writes it first: f32 loops over strided arrays, every pair in memory. The checker's tests edit it,
// one mistake at a time. It shares no code with src/check, nor with the library.
#ifndef QKV_TESTS_MUTANTS_NAIVE_ATTENTION_H_
#define QKV_TESTS_MUTANTS_NAIVE_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/mutants/edits.h"

namespace mutants {

// [a,b,c,d] in memory; a stride of 0 broadcasts. Null: absent.
template <class T>
struct Strided {
  const T* data = nullptr;
  std::int64_t size = 0;  // of the memory, from `data` on
  std::int64_t strides[4] = {0, 0, 0, 0};
  std::int64_t offset(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) const {
    return a * strides[0] + b * strides[1] + c * strides[2] + d * strides[3];
  }
  T at(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) const { return data[offset(a, b, c, d)]; }
};
using Floats = Strided<float>;
using Flags = Strided<unsigned char>;

enum class From : std::uint8_t { kTopLeft, kBottomRight, kOffset };

struct NaiveProblem {
  std::int64_t batch = 0, heads = 0, kv_heads = 0, queries = 0, keys = 0, width = 0, value_width = 0;
  Floats q, k, v;
  Flags keep;      // broadcast to [B,Hq,Tq,Tk]
  Flags key_mask;  // [B,·,·,Tk]
  Floats bias;     // broadcast to [B,Hq,Tq,Tk]
  bool causal = false;
  std::int64_t left = -1, right = -1;  // of the window
  From corner = From::kTopLeft;
  std::int64_t offset = 0;
  std::vector<std::int64_t> lengths, starts_q, starts_k;
  std::vector<float> slopes, sinks;
  std::optional<float> scale, softcap;
  float (*rounded)(float) = [](float x) { return x; };  // to the type of q: weights are stored in it
  float (*rounded_f16)(float) = nullptr;
  Floats d_o;                    // absent: forward only
  const float* d_lse = nullptr;  // [B,Hq,Tq]
};

struct NaiveResult {
  std::vector<float> o, lse;                     // [B,Hq,Tq,Dv], [B,Hq,Tq]
  std::vector<float> dq, dk, dv, dbias, dsinks;  // contiguous; dbias of the bias's own shape
};

class NaiveAttention {
 public:
  NaiveAttention(const NaiveProblem& problem, Edits edits);
  NaiveResult run();

 private:
  using Index = std::int64_t;
  struct Rows {  // the sequence of one query: positions are indices of keys
    Index position = 0, key_begin = 0, key_end = 0;
  };

  std::size_t pair(Index b, Index h, Index i, Index j) const {
    return static_cast<std::size_t>(((b * p_.heads + h) * p_.queries + i) * p_.keys + j);
  }
  std::size_t row(Index b, Index h, Index i) const {
    return static_cast<std::size_t>((b * p_.heads + h) * p_.queries + i);
  }
  // naive_inputs.cc
  void repack();
  void split_heads(std::vector<float>& memory, Floats& array, Index heads, Index tokens, Index width) const;
  float query(Index b, Index h, Index i, Index c) const;
  float key(Index b, Index h, Index j, Index c) const;
  float value(Index b, Index h, Index j, Index c) const;
  Index index(const Floats& array, Index a, Index b, Index c, Index d) const;
  Index kv_head(Index h) const;
  Index kv_batch(Index b) const;
  // naive_mask.cc
  Rows rows_of(Index b, Index i) const;
  bool mask_says(Index b, Index h, Index i, Index j) const;
  bool key_mask_says(Index b, Index h, Index i, Index j) const;
  bool by_position(const Rows& rows, Index i, Index j) const;
  bool causal_applies() const;
  bool visible(Index b, Index h, Index i, Index j) const;
  float bias(Index b, Index h, Index i, Index j) const;
  // naive_scores.cc
  float scale_of(Index j) const;
  float summed(std::vector<float> terms) const;
  float dot(Index b, Index h, Index i, Index j) const;
  float cap(float x, std::size_t at);
  float shift(Index b, Index h, Index i) const;
  void score(Index b, Index h, Index i, Index j);
  // naive_attention.cc
  void softmax_row(Index b, Index h, Index i);
  void softmax_columns(Index b, Index h);
  void softmax_heads(Index b, Index i, Index j);
  void write_lse(Index b, Index h, Index i, float maximum, float sum);
  void empty_row(Index b, Index h, Index i);
  void mix(Index b, Index h, Index i);
  void merge_heads();
  // naive_backward.cc
  void backward();
  void backward_row(Index b, Index h, Index i);
  void backward_pair(Index b, Index h, Index i, Index j, float ds);
  Index gradient_head(Index h) const;
  float weight_again(Index b, Index h, Index i, Index j) const;

  NaiveProblem p_;
  Edits edits_;
  NaiveResult out_;
  std::vector<float> own_q_, own_k_, own_v_;            // where an edit copies them
  std::vector<float> scores_, weights_, slope_of_cap_;  // [B,Hq,Tq,Tk]
  std::vector<char> seen_;
  std::vector<float> sink_weights_;  // [B,Hq,Tq]
  std::vector<char> empty_;
};

}  // namespace mutants

#endif  // QKV_TESTS_MUTANTS_NAIVE_ATTENTION_H_
