// Axes added, exchanged and dropped; the memory stays where it is.
#include "src/core/four_axes.h"

namespace qkv {

View<const void> padded(View<const void> view, int rank) {
  Dims shape, strides;
  for (int axis = view.shape.rank(); axis < rank; ++axis) {
    shape.push_back(1);
    strides.push_back(0);
  }
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    shape.push_back(view.shape[axis]);
    strides.push_back(view.strides[axis]);
  }
  return {view.data, view.dtype, shape, strides};
}

View<const void> with_four_axes(View<const void> view, Layout layout) {
  const int rank = view.shape.rank();
  if (rank < 2) return view;  // check_attention() says what is wrong
  const View<const void> full = padded(view, kMaxRank);
  // [T,D] and [H,T,D] are padded at the front; tokens first means [T,H,D], or [T,D] as it is.
  return layout == Layout::kBTHD && rank > 2 ? swap_axes(full, 1, 2) : full;
}

View<void> with_four_axes(View<void> view, Layout layout) {
  const View<const void> full = with_four_axes(View<const void>(view), layout);
  return {view.data, view.dtype, full.shape, full.strides};
}

View<const void> without_leading_axes(View<const void> view, Layout layout, int rank) {
  if (layout == Layout::kBTHD && rank > 2) view = swap_axes(view, 1, 2);
  Dims shape, strides;
  for (int axis = kMaxRank - rank; axis < kMaxRank; ++axis) {
    shape.push_back(view.shape[axis]);
    strides.push_back(view.strides[axis]);
  }
  return {view.data, view.dtype, shape, strides};
}

}  // namespace qkv
