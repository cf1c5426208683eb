// Rows shared out: runs of them summed apart and then added, or copied.
#include "src/ops/project/row_passes.h"

#include <algorithm>

#include "src/core/parallel.h"
#include "src/core/row_runs.h"

namespace qkv {
namespace {

constexpr std::int64_t kRowsPerCopy = 64;
constexpr std::int64_t kElementsWorthSharing = 1 << 18;  // about 50 µs of reading

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

ColumnSumsPlan::ColumnSumsPlan(View<const void> matrix, View<void> sums, Target target)
    : matrix_(matrix), sums_(sums), kernel_(product_kernel(target, sums.dtype)), runs_(row_runs(matrix.shape[0])) {}

int ColumnSumsPlan::threads(int available) const {
  if (element_count(matrix_.shape) < kElementsWorthSharing) return 1;
  return static_cast<int>(std::clamp<std::int64_t>(runs_, 1, available));
}

double ColumnSumsPlan::flops() const { return static_cast<double>(element_count(matrix_.shape)); }

// The sums of every run, and a row to convert in, one a run so that no worker is needed for its number.
std::size_t ColumnSumsPlan::scratch_bytes(int /*threads*/) const {
  return 2 * aligned(static_cast<std::size_t>(runs_ * matrix_.shape[1]) * kernel_.element);
}

bool ColumnSumsPlan::run(char* scratch, int threads, const Execution& execution) const {
  const std::int64_t columns = matrix_.shape[1];
  if (columns == 0) return true;
  const std::size_t row_bytes = static_cast<std::size_t>(columns) * kernel_.element;
  char* const rows = scratch + scratch_bytes(threads) / 2;
  const bool finished = parallel_for(runs_, threads, execution, [&](std::int64_t run, int) {
    const std::size_t at = static_cast<std::size_t>(run) * row_bytes;
    const RowRun rows_of_run = row_run(matrix_.shape[0], run);
    kernel_.sum_columns(matrix_, {rows_of_run.begin, rows_of_run.count}, scratch + at, rows + at);
  });
  if (finished) kernel_.add_runs(scratch, runs_, sums_);
  return finished;
}

RowCopyPlan::RowCopyPlan(View<const void> from, View<void> to, Target target)
    : from_(from), to_(to), kernel_(product_kernel(target, to.dtype)), rows_(from.shape[0] * from.shape[1]) {}

std::int64_t RowCopyPlan::tasks() const { return (rows_ + kRowsPerCopy - 1) / kRowsPerCopy; }

int RowCopyPlan::threads(int available) const {
  if (element_count(from_.shape) < kElementsWorthSharing) return 1;
  return static_cast<int>(std::clamp<std::int64_t>(tasks(), 1, available));
}

std::size_t RowCopyPlan::scratch_bytes(int threads) const {
  return static_cast<std::size_t>(threads) * aligned(static_cast<std::size_t>(from_.shape[2]) * kernel_.element);
}

bool RowCopyPlan::run(char* scratch, int threads, const Execution& execution) const {
  const std::size_t row_bytes = aligned(static_cast<std::size_t>(from_.shape[2]) * kernel_.element);
  return parallel_for(tasks(), threads, execution, [&](std::int64_t task, int worker) {
    const std::int64_t begin = task * kRowsPerCopy;
    kernel_.copy_rows(from_, to_, {begin, std::min(kRowsPerCopy, rows_ - begin)},
                      scratch + static_cast<std::size_t>(worker) * row_bytes);
  });
}

}  // namespace qkv
