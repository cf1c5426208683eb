// The slopes that ALiBi gives its heads.
#ifndef QKV_SRC_OPS_ATTENTION_ALIBI_SLOPES_H_
#define QKV_SRC_OPS_ATTENTION_ALIBI_SLOPES_H_

#include <cstdint>
#include <vector>

namespace qkv {

// slope_h = 2^(−8 (h+1) / n) for n heads, n a power of two. Otherwise those of the power of two below, then every other
// slope of the one above. Source: Press, Smith and Lewis 2022 (arXiv:2108.12409) and its authors' code.
// Cost: allocates the result. Constraint: heads >= 0.
std::vector<double> alibi_slopes(std::int64_t heads);

}  // namespace qkv

#endif  // QKV_SRC_OPS_ATTENTION_ALIBI_SLOPES_H_
