// How many seeds, and which.
#ifndef QKV_TESTS_MUTANTS_SEEDS_H_
#define QKV_TESTS_MUTANTS_SEEDS_H_

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace mutants {

// Far from those that anybody tunes by hand. QKV_CHECK_SEEDS in the environment overrules `count` (`make test-long`).
inline std::vector<std::uint64_t> unseen_seeds(int count) {
  if (const char* asked = std::getenv("QKV_CHECK_SEEDS")) count = std::atoi(asked);
  std::vector<std::uint64_t> seeds;
  for (int i = 0; i < count; ++i) seeds.push_back(7'000'003 + 104'729 * static_cast<std::uint64_t>(i));
  return seeds;
}

}  // namespace mutants

#endif  // QKV_TESTS_MUTANTS_SEEDS_H_
