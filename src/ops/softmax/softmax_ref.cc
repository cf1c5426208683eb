// The softmax of one row: the largest score, the sum, the weights.
#include "src/ops/softmax/softmax_ref.h"

#include <cmath>

namespace qkv::reference {

RowSum softmax_row(const double* scores, std::int64_t count, double sink, double* p) {
  double largest = sink;
  for (std::int64_t j = 0; j < count; ++j)
    if (scores[j] > largest) largest = scores[j];  // a NaN is passed over here and reaches the sum below

  // With nothing to see the sum is exp(−inf) = 0 whatever is subtracted; −inf itself would give NaN.
  const double shift = largest == kHidden ? 0 : largest;
  const double sink_share = std::exp(sink - shift);
  double sum = 0;
  for (std::int64_t j = 0; j < count; ++j) {
    p[j] = scores[j] == kHidden ? 0 : std::exp(scores[j] - shift);
    sum += p[j];
  }
  sum += sink_share;
  if (sum == 0) return {};

  // Dividing keeps the digits that exp(s − lse) would lose where |lse| is large.
  for (std::int64_t j = 0; j < count; ++j)
    if (p[j] != 0) p[j] /= sum;  // what is hidden stays 0 in a row of NaN, too
  return {shift + std::log(sum), sink_share / sum};
}

}  // namespace qkv::reference
