// Which bytes a view touches, and whether two views share some.
#ifndef QKV_SRC_CORE_VIEW_MEMORY_H_
#define QKV_SRC_CORE_VIEW_MEMORY_H_

#include "qkv/tensor.h"

namespace qkv {

// Whether the address ranges, first to last byte, of two views meet. Views that interleave without sharing a byte count
// as overlapping. An empty or absent view overlaps nothing.
bool memory_overlaps(View<const void> a, View<const void> b);

// Whether two different indices of the view may name the same element (a stride of 0 along an axis longer than 1, say).
bool overlaps_itself(View<const void> view);

}  // namespace qkv

#endif  // QKV_SRC_CORE_VIEW_MEMORY_H_
