// What the tests of the layer and its parts share: random tensors anywhere in memory, and results held to float64.
#ifndef QKV_TESTS_LAYER_TESTING_H_
#define QKV_TESTS_LAYER_TESTING_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "src/check/bounds.h"
#include "src/check/placed.h"
#include "src/core/random.h"
#include "tests/attention_testing.h"

namespace qkv {

// N(0, scale²), rounded to the type, lying in memory as `placement` says; transposed: a matrix whose first axis is the
// contiguous one.
inline check::Placed random_tensor(DType dtype, const Dims& shape, std::uint64_t stream,
                                   const check::Placement& placement = {}, bool transposed = false, double scale = 1) {
  Dims in_memory = shape;
  if (transposed) std::swap(in_memory[0], in_memory[1]);
  check::Placed placed = must(check::place_empty(dtype, in_memory, placement));
  if (transposed) placed.view = swap_axes(placed.view, 0, 1);
  const RandomStream random(7, stream);
  std::uint64_t index = 0;
  for_each_element(placed.view.shape, placed.view.strides,
                   [&](std::int64_t offset) { set_element(placed.view, offset, scale * random.normal(index++)); });
  return placed;
}

// Memory for a result of that shape, all NaN, off its cache line and with gaps between the rows.
inline check::Placed empty_tensor(DType dtype, const Dims& shape) {
  return must(check::place_empty(dtype, shape, {.row_gap = shape.rank() > 1 ? 3 : 0, .shift = 1}));
}

enum class Yardstick : std::uint8_t { kForward, kGradient };  // 2 or 3 times the plain computation's error

inline double largest(View<const void> view) {
  const Tensor zero = must(Tensor::zeros(DType::kF64, view.shape));
  return must(check::compare(view, zero.view(), {})).largest_error;
}

// Holds a result to float64; `plain` is the plain same-type computation's.
inline void expect_within(const std::string& what, const check::Placed& got, const Tensor& want, const Tensor& plain,
                          Yardstick yardstick) {
  const double error = must(check::compare(plain.view(), want.view(), {}), what).largest_error;
  const DType dtype = got.view.dtype;
  const check::Bound bound = yardstick == Yardstick::kForward
                                 ? check::forward_bound(dtype, error, largest(want.view()))
                                 : check::gradient_bound(dtype, error, largest(want.view()));
  const check::Comparison verdict = must(check::compare(got.view, want.view(), bound), what);
  EXPECT_TRUE(verdict.passed) << what << ": " << to_string(verdict);
  EXPECT_TRUE(check::surroundings_are_intact(got)) << what;
}

}  // namespace qkv

#endif  // QKV_TESTS_LAYER_TESTING_H_
