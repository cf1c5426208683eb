// The softmax of one row in float64, with an optional sink.
#ifndef QKV_SRC_OPS_SOFTMAX_SOFTMAX_REF_H_
#define QKV_SRC_OPS_SOFTMAX_SOFTMAX_REF_H_

#include <cstdint>
#include <limits>

namespace qkv::reference {

inline constexpr double kHidden = -std::numeric_limits<double>::infinity();  // the score of a key that is not seen

struct RowSum {
  double lse = kHidden;  // natural logarithm of the sum
  double p_sink = 0;     // the share of the sum that the sink takes
};

// Turns `count` scores into weights.
//
//   lse = ln(Σ_j exp s_j [+ exp sink])     p_j = exp(s_j − lse)     p_sink = exp(sink − lse)
//
// Shapes: scores, p [count]. sink = kHidden means that there is none.
// Numerics: the maximum is subtracted, sums run in index order. kHidden gives exactly 0, and a row of nothing else
//   lse = −inf and p = 0. A NaN or +inf makes the rest of the row NaN.
RowSum softmax_row(const double* scores, std::int64_t count, double sink, double* p);

}  // namespace qkv::reference

#endif  // QKV_SRC_OPS_SOFTMAX_SOFTMAX_REF_H_
