// Drawing queries, keys and distances.
#include "src/explain/scores_draw.h"

#include <algorithm>
#include <cmath>

#include "src/core/random.h"

namespace qkv {
namespace {

constexpr std::uint64_t kKeys = 1, kQueries = 2, kTargets = 3;  // streams of a seed
constexpr std::int64_t kRowStride = 4096;                       // more than the widest row
constexpr double kStrength = 3;                                 // standard deviations

std::vector<double> drawn(const ScoresRequest& request, std::uint64_t stream) {
  const RandomStream random(static_cast<std::uint64_t>(request.seed), stream);
  std::vector<double> rows(static_cast<std::size_t>(request.n * request.d_k));
  for (std::int64_t row = 0; row < request.n; ++row)
    for (std::int64_t column = 0; column < request.d_k; ++column)
      rows[static_cast<std::size_t>(row * request.d_k + column)] =
          random.normal(static_cast<std::uint64_t>(row * kRowStride + column));
  return rows;
}

// Adds weight · (score − mean) / spread, mean and spread over the pairs that are seen. Equal scores add nothing.
template <class Score>
void add_standardised(const ScoresRequest& request, double weight, Score score, std::vector<double>& out) {
  double count = 0, sum = 0, squares = 0;
  for (std::int64_t i = 0; i < request.n; ++i)
    for (std::int64_t j = 0; j < request.n; ++j) {
      if (!request.sees(i, j)) continue;
      ++count;
      sum += score(i, j);
      squares += score(i, j) * score(i, j);
    }
  const double mean = sum / count;
  const double variance = squares / count - mean * mean;
  if (variance <= 0) return;
  for (std::int64_t i = 0; i < request.n; ++i)
    for (std::int64_t j = 0; j < request.n; ++j)
      out[static_cast<std::size_t>(i * request.n + j)] += weight * (score(i, j) - mean) / std::sqrt(variance);
}

}  // namespace

double pattern_share(std::int64_t d_k) { return std::min(1.0, kStrength / std::sqrt(static_cast<double>(d_k))); }

std::vector<std::int64_t> drawn_targets(const ScoresRequest& request) {
  const RandomStream random(static_cast<std::uint64_t>(request.seed), kTargets);
  std::vector<std::int64_t> targets;
  for (std::int64_t i = 0; i < request.n; ++i) {
    const std::int64_t choices = request.causal ? i + 1 : request.n;
    const std::uint64_t bits = random.bits(static_cast<std::uint64_t>(i));
    targets.push_back(static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(choices)));
  }
  return targets;
}

std::vector<double> drawn_keys(const ScoresRequest& request) { return drawn(request, kKeys); }

std::vector<double> drawn_queries(const ScoresRequest& request, const std::vector<double>& keys) {
  const double share = pattern_share(request.d_k);
  const double rest = std::sqrt(1 - share * share);
  std::vector<double> rows = drawn(request, kQueries);
  for (std::int64_t i = 0; i < request.n; ++i)
    for (std::int64_t c = 0; c < request.d_k; ++c) {
      double& entry = rows[static_cast<std::size_t>(i * request.d_k + c)];
      const std::int64_t target = request.targets[static_cast<std::size_t>(i)];
      entry = share * keys[static_cast<std::size_t>(target * request.d_k + c)] + rest * entry;
    }
  return rows;
}

std::vector<double> distance_scores(const ScoresRequest& request) {
  std::vector<double> out(static_cast<std::size_t>(request.n * request.n), 0.0);
  const auto is_previous = [](std::int64_t i, std::int64_t j) { return j == i - 1 ? 1.0 : 0.0; };
  const auto nearness = [](std::int64_t i, std::int64_t j) { return -std::abs(static_cast<double>(i - j)); };
  if (request.mix[1] != 0) add_standardised(request, request.mix[1], is_previous, out);
  if (request.mix[2] != 0) add_standardised(request, request.mix[2], nearness, out);
  return out;
}

}  // namespace qkv
