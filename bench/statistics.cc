// Order statistics, which one disturbed round does not move.
#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace qkv::bench {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

double smallest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}

double relative_spread(const std::vector<double>& values) {
  const double middle = median(values);
  if (values.size() < 2 || middle == 0) return 0;
  std::vector<double> distances;
  distances.reserve(values.size());
  for (double value : values) distances.push_back(std::fabs(value - middle));
  return 1.4826 * median(std::move(distances)) / std::fabs(middle);
}

}  // namespace qkv::bench
