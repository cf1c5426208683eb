// The columns of a fused projection: which are read as q, k and v, and their gradients put back.
#ifndef QKV_SRC_CHECK_VARIANT_PACKING_H_
#define QKV_SRC_CHECK_VARIANT_PACKING_H_

#include <cstdint>
#include <vector>

#include "src/check/mistake_set.h"
#include "src/core/check_layer.h"

namespace qkv::check {

// Which columns of wqkv are read as those of q (0), k (1) and v (2).
struct PackedColumns {
  std::vector<std::int64_t> of[3];
};

PackedColumns packed_columns(const LayerShape& shape, const MistakeSet& mistakes);

// Column `from[c]` of w [C,E] (or of b [E]) at c.
Result<Tensor> taken(View<const void> w, const std::vector<std::int64_t>& from);

// The parts' gradients where their columns were read from, as a gradient of `whole`; an absent part leaves 0.
Result<Tensor> packed(const PackedColumns& columns, const Tensor* const (&parts)[3], View<const void> whole);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_VARIANT_PACKING_H_
