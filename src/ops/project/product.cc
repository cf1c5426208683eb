// How a product is cut into packed runs of the summed axis and tiles of the result.
#include "src/ops/project/product.h"

#include <algorithm>

#include "src/core/parallel.h"

namespace qkv {
namespace {

// Less work than this (about 50 µs on one core) costs more to share than to do.
constexpr double kFlopsWorthSharing = 5e6;

constexpr std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

bool has_unit_columns(const View<const void>& matrix) { return matrix.strides[1] == 1 || matrix.shape[1] == 1; }

}  // namespace

ProductPlan::ProductPlan(const Product& product, Target target)
    : product_(product),
      kernel_(product_kernel(target, product.c.dtype)),
      rows_(product.c.shape[0]),
      columns_(product.c.shape[1]),
      depth_(0) {
  few_rows_ = rows_ <= kProductFewRows;
  const DType compute = product.c.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  std::int64_t runs = 0;
  for (const ProductTerm& term : product.all_terms()) {
    const std::int64_t depth = term.b.shape[0];
    depth_ += depth;
    runs += product_runs(depth);
    longest_run_ = std::max(longest_run_, ceiling(depth, product_runs(depth)));
    few_rows_ = few_rows_ && has_unit_columns(term.b);
    packs_a_ = packs_a_ || term.a.dtype != compute || !has_unit_columns(term.a);
  }
  const bool c_holds_sums = product.c.dtype == compute && has_unit_columns(product.c);
  needs_sums_ = runs > 1 && !c_holds_sums;
}

// Packing a is shared by the panels of a tile; where there is none, small tiles are easier to share out. With few rows,
// long reads are faster, and four tasks are wanted.
std::int64_t ProductPlan::columns_of_task() const {
  if (!few_rows_) return kernel_.panel * (packs_a_ ? 6 : 3);
  return std::clamp<std::int64_t>(ceiling(ceiling(columns_, 4), kernel_.panel) * kernel_.panel, 256,
                                  kProductFewColumns);
}

double ProductPlan::flops() const {
  return 2.0 * static_cast<double>(rows_) * static_cast<double>(columns_) * static_cast<double>(depth_);
}

std::int64_t ProductPlan::tasks() const {
  if (rows_ == 0 || columns_ == 0) return 0;
  return (few_rows_ ? 1 : ceiling(rows_, kProductRows)) * ceiling(columns_, columns_of_task());
}

int ProductPlan::threads(int available) const {
  constexpr double kReadingCounts = 16;  // with fewer rows than this it is reading b that takes the time
  const double rows = std::max(static_cast<double>(rows_), kReadingCounts);
  if (2 * rows * static_cast<double>(columns_) * static_cast<double>(depth_) < kFlopsWorthSharing) return 1;
  return static_cast<int>(std::clamp<std::int64_t>(tasks(), 1, available));
}

std::size_t ProductPlan::sums_bytes() const {
  if (!needs_sums_) return 0;
  return aligned(static_cast<std::size_t>(std::min(rows_, kProductRows) * columns_of_task()) * kernel_.element);
}

std::size_t ProductPlan::worker_bytes() const {
  if (few_rows_)
    return aligned(static_cast<std::size_t>((kProductFewRows + kProductFewDepth) * kProductFewColumns) *
                   kernel_.element);
  const std::int64_t rows = packs_a_ ? std::min(rows_, kProductRows) : 0;
  return sums_bytes() +
         aligned(static_cast<std::size_t>(kernel_.buffer_elements(rows, longest_run_)) * kernel_.element);
}

std::size_t ProductPlan::scratch_bytes(int threads) const {
  if (rows_ == 0 || columns_ == 0) return 0;
  const std::size_t packed = few_rows_ ? aligned(static_cast<std::size_t>(rows_ * depth_) * kernel_.element) : 0;
  return packed + worker_bytes() * static_cast<std::size_t>(threads);
}

bool ProductPlan::run(char* scratch, int threads, const Execution& execution) const {
  if (rows_ == 0 || columns_ == 0) return true;
  if (few_rows_) return run_few_rows(scratch, threads, execution);
  const std::int64_t width = columns_of_task();
  const std::int64_t across = ceiling(columns_, width);
  return parallel_for(tasks(), threads, execution, [&](std::int64_t task, int worker) {
    char* mine = scratch + static_cast<std::size_t>(worker) * worker_bytes();
    const std::int64_t row = task / across * kProductRows;
    const std::int64_t column = task % across * width;
    ProductTile tile;
    tile.product = &product_;
    tile.rows = {row, std::min(kProductRows, rows_ - row)};
    tile.columns = {column, std::min(width, columns_ - column)};
    if (needs_sums_) tile.sums = mine;
    tile.sums_stride = width;
    tile.buffer = mine + sums_bytes();
    kernel_.multiply(tile);
  });
}

bool ProductPlan::run_few_rows(char* scratch, int threads, const Execution& execution) const {
  std::int64_t at = 0;
  for (const ProductTerm& term : product_.all_terms()) {
    kernel_.pack_few_rows(term.a, scratch + static_cast<std::size_t>(at) * kernel_.element, depth_);
    at += term.a.shape[1];
  }
  char* workers = scratch + aligned(static_cast<std::size_t>(rows_ * depth_) * kernel_.element);
  return parallel_for(tasks(), threads, execution, [&](std::int64_t task, int worker) {
    const std::int64_t begin = task * columns_of_task();
    const Range columns{begin, std::min(columns_of_task(), columns_ - begin)};
    kernel_.multiply_few_rows(product_, columns, scratch, depth_,
                              workers + static_cast<std::size_t>(worker) * worker_bytes());
  });
}

}  // namespace qkv
