// Tensors of rank 2 and 3, and of either layout, seen as the [B,H,T,D] that attention takes; and back.
#ifndef QKV_SRC_CORE_FOUR_AXES_H_
#define QKV_SRC_CORE_FOUR_AXES_H_

#include "qkv/problem.h"
#include "qkv/tensor.h"

namespace qkv {

// `view` with leading axes of extent 1 until it has `rank`: [T] as [B,H,T].
View<const void> padded(View<const void> view, int rank);

// [T,D], [H,T,D] or [B,H,T,D] (tokens before heads by layout: [T,H,D], [B,T,H,D]) seen as [B,H,T,D].
// A rank that is none of these comes back as it is: check_attention() says what is wrong with it.
View<const void> with_four_axes(View<const void> view, Layout layout);
View<void> with_four_axes(View<void> view, Layout layout);

// The inverse: [B,H,T,D] as a tensor of that layout and rank. Constraint: the axes that go have extent 1.
View<const void> without_leading_axes(View<const void> view, Layout layout, int rank);

}  // namespace qkv

#endif  // QKV_SRC_CORE_FOUR_AXES_H_
