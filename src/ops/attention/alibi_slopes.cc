// Geometric sequences, as the paper's authors continue them between powers of two.
#include "src/ops/attention/alibi_slopes.h"

#include <bit>
#include <cmath>

namespace qkv {

std::vector<double> alibi_slopes(std::int64_t heads) {
  std::vector<double> slopes;
  if (heads <= 0) return slopes;
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  for (std::int64_t h = 1; h <= below; ++h)
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(below)));
  for (std::int64_t h = 1; below + (h + 1) / 2 <= heads; h += 2)
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(h) / static_cast<double>(2 * below)));
  return slopes;
}

}  // namespace qkv
