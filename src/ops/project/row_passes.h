// What takes one pass over the rows of a tensor: the sums of its columns (the gradient of a bias), and copies in
// another type and layout. No SIMD here.
#ifndef QKV_SRC_OPS_PROJECT_ROW_PASSES_H_
#define QKV_SRC_OPS_PROJECT_ROW_PASSES_H_

#include <cstddef>
#include <cstdint>

#include "qkv/options.h"
#include "qkv/tensor.h"
#include "src/ops/project/product.h"

namespace qkv {

// sums[n] = Σ_m matrix[m][n], rounded to the type of sums.
//
// Shapes: matrix [M,N], sums [N]; both f64, or both of f32 bf16 f16.
// Numerics: a fixed number of runs of rows, each summed in order, then added in order: the same bits for any threads.
class ColumnSumsPlan {
 public:
  ColumnSumsPlan(View<const void> matrix, View<void> sums, Target target);

  int threads(int available) const;
  std::size_t scratch_bytes(int threads) const;
  double flops() const;
  std::int64_t tasks() const { return runs_; }
  // `scratch`: 64-byte aligned. Returns false if execution.progress stopped it. Allocates nothing.
  bool run(char* scratch, int threads, const Execution& execution) const;

 private:
  View<const void> matrix_;
  View<void> sums_;
  ProductKernel kernel_;
  std::int64_t runs_;
};

// to = from, element for element, in the type of `to`.
// Shapes: both [B,T,C], any strides; both f64, or both of f32 bf16 f16.
class RowCopyPlan {
 public:
  RowCopyPlan(View<const void> from, View<void> to, Target target);

  int threads(int available) const;
  std::size_t scratch_bytes(int threads) const;
  std::int64_t tasks() const;
  double flops() const { return 0; }
  bool run(char* scratch, int threads, const Execution& execution) const;

 private:
  View<const void> from_;
  View<void> to_;
  ProductKernel kernel_;
  std::int64_t rows_;
};

}  // namespace qkv

#endif  // QKV_SRC_OPS_PROJECT_ROW_PASSES_H_
