// Walks the elements of a strided view in row-major order.
#ifndef QKV_SRC_CORE_FOR_EACH_ELEMENT_H_
#define QKV_SRC_CORE_FOR_EACH_ELEMENT_H_

#include <array>
#include <cstdint>

#include "qkv/tensor.h"

namespace qkv {

// Calls visit(offset) for every element, the last axis fastest; offset in elements from the view's data.
template <class Visit>
void for_each_element(const Dims& shape, const Dims& strides, Visit visit) {
  // Missing leading axes count as extent 1, so that four plain loops serve every rank.
  std::array<std::int64_t, kMaxRank> extent{1, 1, 1, 1};
  std::array<std::int64_t, kMaxRank> step{0, 0, 0, 0};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto slot = static_cast<std::size_t>(kMaxRank + axis - shape.rank());
    extent[slot] = shape[axis];
    step[slot] = strides[axis];
  }
  for (std::int64_t a = 0; a < extent[0]; ++a)
    for (std::int64_t b = 0; b < extent[1]; ++b)
      for (std::int64_t c = 0; c < extent[2]; ++c)
        for (std::int64_t d = 0; d < extent[3]; ++d) visit(a * step[0] + b * step[1] + c * step[2] + d * step[3]);
}

}  // namespace qkv

#endif  // QKV_SRC_CORE_FOR_EACH_ELEMENT_H_
