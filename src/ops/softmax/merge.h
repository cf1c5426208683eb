// Two softmaxes over different keys made into one: the tiles of a row, the chunks of a cache and the machines of a ring
// meet in this operation.
#ifndef QKV_SRC_OPS_SOFTMAX_MERGE_H_
#define QKV_SRC_OPS_SOFTMAX_MERGE_H_

#include <cmath>
#include <cstdint>

namespace qkv {

// What is left to know of one row's softmax over some of its keys. No keys: max = -inf, sum = 0, acc = 0.
template <class C>
struct SoftmaxPart {
  C max;   // the largest score
  C sum;   // Σ exp(s − max)
  C* acc;  // Σ exp(s − max) v, [width]; null where no key has a value (a sink)
};

// Makes `into` the part over both sets of keys. Constraint: into.acc is not null unless width is 0.
//
// `log2_per_unit`: what scores are counted in; log2(e) for natural ones, 1 for those that are exponents of 2 already.
// Numerics: the larger maximum keeps its sum as it is; -inf and -inf, whose difference is no number, are equal; NaN in
// a
//   sum stays there. Cost: two exponentials and 2 (width + 1) multiplications; order of merging changes bits.
template <class C>
void merge(SoftmaxPart<C>& into, const SoftmaxPart<C>& other, std::int64_t width, double log2_per_unit) {
  const C max = into.max < other.max ? other.max : into.max;
  const auto shrink = [&](C old) {
    return old == max
               ? C{1}
               : static_cast<C>(std::exp2((static_cast<double>(old) - static_cast<double>(max)) * log2_per_unit));
  };
  const C mine = shrink(into.max);
  const C theirs = shrink(other.max);
  into.max = max;
  into.sum = into.sum * mine + other.sum * theirs;
  if (other.acc == nullptr) {
    for (std::int64_t c = 0; c < width; ++c) into.acc[c] *= mine;
  } else {
    for (std::int64_t c = 0; c < width; ++c) into.acc[c] = into.acc[c] * mine + other.acc[c] * theirs;
  }
}

}  // namespace qkv

#endif  // QKV_SRC_OPS_SOFTMAX_MERGE_H_
