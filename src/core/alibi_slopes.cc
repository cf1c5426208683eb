// The slopes of ALiBi for any number of heads.
#include <cmath>

#include "qkv/options.h"

namespace qkv {

std::vector<double> alibi_slopes(std::int64_t heads) {
  std::vector<double> slopes;
  std::int64_t power = 1;  // the largest power of two that is not above `heads`
  while (power <= heads / 2) power *= 2;
  const auto slope = [](std::int64_t k, std::int64_t of) {
    return std::exp2(-8.0 * static_cast<double>(k) / static_cast<double>(of));
  };
  for (std::int64_t k = 1; k <= power && k <= heads; ++k) slopes.push_back(slope(k, power));
  for (std::int64_t k = 1; static_cast<std::int64_t>(slopes.size()) < heads; k += 2)
    slopes.push_back(slope(k, 2 * power));
  return slopes;
}

}  // namespace qkv
