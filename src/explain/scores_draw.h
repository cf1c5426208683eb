// What the scores of part 7 are made of: seeded queries and keys of unit variance, and distance as a score of its own.
#ifndef QKV_SRC_EXPLAIN_SCORES_DRAW_H_
#define QKV_SRC_EXPLAIN_SCORES_DRAW_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace qkv {

struct ScoresRequest {
  std::int64_t n = 24;
  std::int64_t d_k = 64;
  std::int64_t seed = 1;
  std::string function = "content";
  std::array<double, 3> mix = {1, 0, 0};  // of content, previous token, decay with distance
  bool divide = true;
  bool causal = false;
  std::vector<std::int64_t> targets;  // the key that each query looks for

  bool sees(std::int64_t query, std::int64_t key) const { return !causal || key <= query; }
};

// How much of its target's key a query is made of: min(1, 3 / √d_k), so that the pattern is 3 standard deviations of
// the noise high at every width.
double pattern_share(std::int64_t d_k);

// For each query a key that it may see, by the seed.
std::vector<std::int64_t> drawn_targets(const ScoresRequest& request);

// k_j = ε, [n, d_k] row-major. A component depends on seed, row and column only: a wider draw begins with a narrower.
std::vector<double> drawn_keys(const ScoresRequest& request);

// q_i = ρ k_target(i) + √(1 − ρ²) ε′.
std::vector<double> drawn_queries(const ScoresRequest& request, const std::vector<double>& keys);

// The weighted sum of "is the previous token" and "is near", each with mean 0 and spread 1 over the pairs that are
// seen; [n, n].
std::vector<double> distance_scores(const ScoresRequest& request);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_SCORES_DRAW_H_
