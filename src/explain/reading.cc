// The largest weights of each row, and row sums.
#include "src/explain/reading.h"

#include <algorithm>
#include <numeric>

namespace qkv {
namespace {

RowReading read_row(const double* p, std::int64_t keys) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(keys));
  std::iota(order.begin(), order.end(), 0);
  const auto shown = static_cast<std::ptrdiff_t>(std::min(kKeysOfAReading, order.size()));
  // NaN counts as the smallest: a comparison that is not an order would be undefined in sort.
  const auto larger = [p](std::int64_t a, std::int64_t b) {
    const double x = p[a] == p[a] ? p[a] : -1;
    const double y = p[b] == p[b] ? p[b] : -1;
    return x > y || (x == y && a < b);
  };
  std::partial_sort(order.begin(), order.begin() + shown, order.end(), larger);
  RowReading row;
  double sum = 0;
  for (std::ptrdiff_t i = 0; i < shown; ++i) {
    const std::int64_t key = order[static_cast<std::size_t>(i)];
    if (!(p[key] > 0)) break;
    sum += p[key];
    row.keys.push_back(key);
    row.weights.push_back(p[key]);
    row.cumulative.push_back(sum);
  }
  return row;
}

}  // namespace

std::vector<RowReading> read_head(const Tensor& p, std::int64_t head) {
  std::vector<RowReading> rows;
  const std::int64_t queries = p.shape()[2];
  const std::int64_t keys = p.shape()[3];
  rows.reserve(static_cast<std::size_t>(queries));
  for (std::int64_t i = 0; i < queries; ++i)
    rows.push_back(read_row(p.data<double>() + (head * queries + i) * keys, keys));
  return rows;
}

std::vector<double> row_sums(const Tensor& matrix) {
  std::vector<double> sums;
  const std::int64_t columns = matrix.shape()[3];
  const std::int64_t rows = columns == 0 ? 0 : matrix.size() / columns;
  for (std::int64_t row = 0; row < rows; ++row) {
    const double* first = matrix.data<double>() + row * columns;
    sums.push_back(std::accumulate(first, first + columns, 0.0));
  }
  return sums;
}

}  // namespace qkv
