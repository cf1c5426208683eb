// The runs that the rows of a sum over rows are cut into. They depend on the number of rows only, so that the sums have
// the same bits for any number of threads.
#ifndef QKV_SRC_CORE_ROW_RUNS_H_
#define QKV_SRC_CORE_ROW_RUNS_H_

#include <algorithm>
#include <cstdint>

namespace qkv {

struct RowRun {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

// At least 64 rows a run, since a run's sums have to be written and added; no more than 16 runs can be shared out.
inline std::int64_t row_runs(std::int64_t rows) { return std::clamp<std::int64_t>((rows + 63) / 64, 1, 16); }

inline RowRun row_run(std::int64_t rows, std::int64_t run) {
  const std::int64_t runs = row_runs(rows);
  const std::int64_t begin = rows * run / runs;
  return {begin, rows * (run + 1) / runs - begin};
}

}  // namespace qkv

#endif  // QKV_SRC_CORE_ROW_RUNS_H_
