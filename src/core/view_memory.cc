// Address ranges of strided views.
#include "src/core/view_memory.h"

#include <array>
#include <cstdint>

namespace qkv {
namespace {

// Elements from the first to one past the last. Constraint: no empty axis.
std::int64_t span_of(const View<const void>& view) {
  std::int64_t last = 0;
  for (int axis = 0; axis < view.shape.rank(); ++axis) last += (view.shape[axis] - 1) * view.strides[axis];
  return last + 1;
}

}  // namespace

bool memory_overlaps(View<const void> a, View<const void> b) {
  if (!a.is_present() || !b.is_present() || element_count(a.shape) <= 0 || element_count(b.shape) <= 0) return false;
  const auto begin_a = reinterpret_cast<std::uintptr_t>(a.data);
  const auto begin_b = reinterpret_cast<std::uintptr_t>(b.data);
  const auto end_a = begin_a + static_cast<std::uintptr_t>(span_of(a)) * size_of(a.dtype);
  const auto end_b = begin_b + static_cast<std::uintptr_t>(span_of(b)) * size_of(b.dtype);
  return begin_a < end_b && begin_b < end_a;
}

bool overlaps_itself(View<const void> view) {
  if (element_count(view.shape) <= 1) return false;
  struct Axis {
    std::int64_t stride, extent;
  };
  std::array<Axis, kMaxRank> axes{};  // longer than 1, by rising stride
  std::size_t count = 0;
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    if (view.shape[axis] <= 1) continue;
    std::size_t slot = count++;
    for (; slot > 0 && axes[slot - 1].stride > view.strides[axis]; --slot) axes[slot] = axes[slot - 1];
    axes[slot] = {view.strides[axis], view.shape[axis]};
  }
  std::int64_t covered = 1;  // elements that the smaller strides reach
  for (std::size_t i = 0; i < count; ++i) {
    const Axis& axis = axes[i];
    if (axis.stride < covered) return true;
    covered += axis.stride * (axis.extent - 1);
  }
  return false;
}

}  // namespace qkv
