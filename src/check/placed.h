// A tensor inside memory that is larger than it: strides, misalignment, and marked bytes all around and between.
#ifndef QKV_SRC_CHECK_PLACED_H_
#define QKV_SRC_CHECK_PLACED_H_

#include <cstdint>

#include "qkv/problem.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv::check {

// How a tensor lies in memory; the default is contiguous and aligned.
struct Placement {
  Layout layout = Layout::kBHTD;  // order in memory of a rank-4 tensor's middle axes
  std::int64_t last_stride = 1;   // elements from one entry of the last axis to the next; >= 1
  std::int64_t row_gap = 0;       // further elements left free after each row
  std::int64_t shift = 0;         // elements by which the first one is off a 64-byte line; >= 0
};

// Every byte that is no element is kMark: NaN where a floating element is read from it, a canary where one is written.
struct Placed {
  static constexpr unsigned char kMark = 0xFF;

  Tensor memory;  // u8
  View<void> view;
};

// Elements are kMark too: an output that is not written stays NaN. Errors: kOutOfMemory, kInvalidArgument (the shape).
Result<Placed> place_empty(DType dtype, const Dims& shape, const Placement& placement = {});

// The elements of `values` in new memory of the same type.
Result<Placed> place(View<const void> values, const Placement& placement = {});

// Whether every byte outside the view is still kMark.
bool surroundings_are_intact(const Placed& placed);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_PLACED_H_
