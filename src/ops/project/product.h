// Sums of matrix products, c = Σ a b + bias, of any element type and strides: what a projection and its gradient are
// made of. No SIMD here.
#ifndef QKV_SRC_OPS_PROJECT_PRODUCT_H_
#define QKV_SRC_OPS_PROJECT_PRODUCT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "qkv/options.h"
#include "qkv/target.h"
#include "qkv/tensor.h"

namespace qkv {

struct ProductTerm {
  View<const void> a;  // [M,K]
  View<const void> b;  // [K,N]; K may differ from term to term
};

// Constraints: rank 2 (bias: 1); all f64, or all of f32 bf16 f16; c overlaps no input.
struct Product {
  std::array<ProductTerm, 3> terms;
  int term_count = 1;
  View<const void> bias;  // [N], or absent
  View<void> c;           // [M,N]
  std::span<const ProductTerm> all_terms() const { return {terms.data(), static_cast<std::size_t>(term_count)}; }
};

struct Range {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

// A tile of c and what its worker computes it with.
struct ProductTile {
  const Product* product = nullptr;
  Range rows = {}, columns = {};
  void* sums = nullptr;  // [rows.count][sums_stride] in the compute type, where c cannot hold partial sums; or null
  std::int64_t sums_stride = 0;
  void* buffer = nullptr;  // ProductKernel::buffer_elements of the compute type
};

// The products compiled for one target and compute type.
struct ProductKernel {
  std::size_t element = 0;  // bytes
  std::int64_t panel = 0;   // columns that are packed and multiplied together
  // Room for one run of a panel of b, a block of a, and a group of rows.
  std::int64_t (*buffer_elements)(std::int64_t rows, std::int64_t depth) = nullptr;
  void (*multiply)(const ProductTile& tile) = nullptr;
  // to[r][c] = a(r, c), converted: what multiply_few_rows() takes.
  void (*pack_few_rows)(View<const void> a, void* to, std::int64_t stride) = nullptr;
  // All of the summed axis for some columns of a c with few rows, b read in place. `packed_a` [M][ΣK].
  void (*multiply_few_rows)(const Product& product, Range columns, const void* packed_a, std::int64_t a_stride,
                            void* buffer) = nullptr;
  // sums[c] = Σ matrix(r, c) over some rows. `row`: room for one of them.
  void (*sum_columns)(View<const void> matrix, Range rows, void* sums, void* row) = nullptr;
  // to[b][t][c] = from[b][t][c] for rows (b, t) in the order of memory. `row`: room for one of them.
  void (*copy_rows)(View<const void> from, View<void> to, Range rows, void* row) = nullptr;
  // total[c] = Σ_run sums[run][c], in order, rounded. Overwrites sums.
  void (*add_runs)(void* sums, std::int64_t runs, View<void> total) = nullptr;
};

// Constraint: `target` is one of available_targets(). f64 computes in double, everything else in float.
ProductKernel product_kernel(Target target, DType dtype);

// The cuts. A packed panel of b (192 kB) and a block of a (1.1 MB) fit into an L2 of 2 MB.
inline constexpr std::int64_t kProductDepth = 768;  // of a run of the summed axis
inline constexpr std::int64_t kProductRows = 384;   // of c in a tile
inline constexpr std::int64_t kProductRowGroup =
    24;  // rows that are finished while they are in L1; 6, 8 and 4 divide it
// Up to this many rows, reading b once is all that counts: it is not packed, but read some rows side by side.
inline constexpr std::int64_t kProductFewRows = 8;
inline constexpr std::int64_t kProductFewColumns = 1024;  // at most, of c in a task
inline constexpr std::int64_t kProductFewDepth = 8;

// Number and size of the runs that an axis is cut into, as even as can be. An empty axis is one empty run.
inline std::int64_t product_runs(std::int64_t depth) {
  return depth == 0 ? 1 : (depth + kProductDepth - 1) / kProductDepth;
}
inline Range product_run(std::int64_t depth, std::int64_t run) {
  const std::int64_t runs = product_runs(depth);
  const std::int64_t begin = depth * run / runs;
  return {begin, depth * (run + 1) / runs - begin};
}

// How a product is cut. The cuts depend on the shapes only: the same bits for any number of threads.
class ProductPlan {
 public:
  ProductPlan(const Product& product, Target target);

  // The threads that pay, of `available`.
  int threads(int available) const;
  std::size_t scratch_bytes(int threads) const;
  std::int64_t tasks() const;
  double flops() const;
  // Computes c. `scratch`: 64-byte aligned. Returns false if execution.progress stopped it. Allocates nothing.
  bool run(char* scratch, int threads, const Execution& execution) const;

 private:
  bool run_few_rows(char* scratch, int threads, const Execution& execution) const;
  std::int64_t columns_of_task() const;
  std::size_t sums_bytes() const;
  std::size_t worker_bytes() const;

  Product product_;
  ProductKernel kernel_;
  std::int64_t rows_, columns_, depth_;  // M, N, ΣK
  std::int64_t longest_run_ = 0;
  bool few_rows_ = false;
  bool packs_a_ = false;     // a cannot be read in place
  bool needs_sums_ = false;  // c cannot hold partial sums, and there are some
};

}  // namespace qkv

#endif  // QKV_SRC_OPS_PROJECT_PRODUCT_H_
