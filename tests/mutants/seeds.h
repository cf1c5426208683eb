// How many seeds, and which.
#ifndef QKV_TESTS_MUTANTS_SEEDS_H_
#define QKV_TESTS_MUTANTS_SEEDS_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace mutants {

// QKV_CHECK_SEEDS is in the environment (`make test-long`).
inline bool is_long_run() { return std::getenv("QKV_CHECK_SEEDS") != nullptr; }

// Far from those that anybody tunes by hand; a long run overrules `count`.
inline std::vector<std::uint64_t> unseen_seeds(int count) {
  if (is_long_run()) count = std::atoi(std::getenv("QKV_CHECK_SEEDS"));
  std::vector<std::uint64_t> seeds(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = 7'000'003 + 104'729 * i;
  return seeds;
}

}  // namespace mutants

#endif  // QKV_TESTS_MUTANTS_SEEDS_H_
