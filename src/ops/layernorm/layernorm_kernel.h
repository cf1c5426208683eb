// What layernorm.cc hands to the kernel of a target. No SIMD here.
#ifndef QKV_SRC_OPS_LAYERNORM_LAYERNORM_KERNEL_H_
#define QKV_SRC_OPS_LAYERNORM_LAYERNORM_KERNEL_H_

#include <cstddef>
#include <cstdint>

#include "qkv/target.h"
#include "qkv/tensor.h"

namespace qkv {

struct LayerNormWeights {
  View<const void> gamma, beta;  // [C]; absent means 1 and 0
  double eps = 1e-5;
};

// One direction of one call; the other's views are absent.
struct LayerNormCall {
  View<const void> x;    // [B,T,C]
  View<const void> d_u;  // [B,T,C], backward
  LayerNormWeights weights;
  View<void> u;   // [B,T,C], forward
  View<void> dx;  // [B,T,C], backward; may be absent
};

struct LayerNormKernel {
  std::size_t element = 0;  // bytes of the compute type
  std::int64_t rows = 0;    // of scratch that a task needs, [rows][C rounded up to whole vectors]
  std::int64_t (*padded)(std::int64_t channels) = nullptr;
  // u of rows [begin, begin + count). `scratch`: rows · padded elements.
  void (*forward)(const LayerNormCall& call, std::int64_t begin, std::int64_t count, void* scratch) = nullptr;
  // dx of those rows, and in sums [2][padded] their share of dgamma and dbeta.
  void (*backward)(const LayerNormCall& call, std::int64_t begin, std::int64_t count, void* sums,
                   void* scratch) = nullptr;
  // total[c] = Σ_run sums[run][c], runs `stride` elements apart, in order, rounded. Overwrites sums.
  void (*add_runs)(void* sums, std::int64_t runs, std::int64_t stride, View<void> total) = nullptr;
};

// Constraint: `target` is one of available_targets(). f64 computes in double, everything else in float.
LayerNormKernel layernorm_kernel(Target target, DType dtype);

}  // namespace qkv

#endif  // QKV_SRC_OPS_LAYERNORM_LAYERNORM_KERNEL_H_
