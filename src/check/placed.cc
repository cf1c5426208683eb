// Strides for a placement, and the marks around it.
#include "src/check/placed.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "src/core/for_each_element.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

constexpr std::int64_t kGuard = 64;  // marked bytes in front of and behind the elements: the widest vector

// Strides, and in `count` the elements from the first to the end of the last row.
Dims strides_of(const Dims& shape, const Placement& placement, std::int64_t& count) {
  Dims strides = shape;
  int order[kMaxRank] = {0, 1, 2, 3};  // axes, outermost first
  if (shape.rank() == kMaxRank && placement.layout == Layout::kBTHD) std::swap(order[1], order[2]);
  count = placement.last_stride;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[order[axis]] = count;
    count *= shape[order[axis]];
    if (axis == shape.rank() - 1) count += placement.row_gap;
  }
  return strides;
}

unsigned char* bytes_at(const View<const void>& view, std::int64_t offset) {
  return static_cast<unsigned char*>(const_cast<void*>(view.data)) +
         offset * static_cast<std::int64_t>(size_of(view.dtype));
}

}  // namespace

Result<Placed> place_empty(DType dtype, const Dims& shape, const Placement& placement) {
  std::int64_t count = 0;
  const Dims strides = strides_of(shape, placement, count);
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  Placed placed;
  QKV_ASSIGN_OR_RETURN(
      placed.memory,
      Tensor::zeros(DType::kU8, {2 * kGuard + (placement.shift + std::max<std::int64_t>(count, 0)) * size}));
  auto* bytes = placed.memory.data<unsigned char>();
  std::memset(bytes, Placed::kMark, static_cast<std::size_t>(placed.memory.size()));
  placed.view = View<void>(bytes + kGuard + placement.shift * size, dtype, shape, strides);
  return placed;
}

Result<Placed> place(View<const void> values, const Placement& placement) {
  QKV_ASSIGN_OR_RETURN(Placed placed, place_empty(values.dtype, values.shape, placement));
  const std::size_t size = size_of(values.dtype);
  std::vector<std::int64_t> targets;
  for_each_element(placed.view.shape, placed.view.strides, [&](std::int64_t offset) { targets.push_back(offset); });
  std::size_t next = 0;
  for_each_element(values.shape, values.strides, [&](std::int64_t offset) {
    std::memcpy(bytes_at(placed.view, targets[next++]), bytes_at(values, offset), size);
  });
  return placed;
}

bool surroundings_are_intact(const Placed& placed) {
  const auto* begin = placed.memory.data<unsigned char>();
  std::vector<unsigned char> rest(begin, begin + placed.memory.size());
  const std::size_t size = size_of(placed.view.dtype);
  for_each_element(placed.view.shape, placed.view.strides, [&](std::int64_t offset) {
    std::memset(rest.data() + (bytes_at(placed.view, offset) - begin), Placed::kMark, size);
  });
  return std::all_of(rest.begin(), rest.end(), [](unsigned char byte) { return byte == Placed::kMark; });
}

}  // namespace qkv::check
