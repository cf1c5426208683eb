// A part of one axis of a view.
#ifndef QKV_SRC_SURVEY_AXIS_SLICE_H_
#define QKV_SRC_SURVEY_AXIS_SLICE_H_

#include <cstdint>

#include "qkv/tensor.h"

namespace qkv {

// Elements [begin, begin + count) of an axis; an axis of extent 1 is broadcast and stays.
inline View<const void> axis_slice(View<const void> view, int axis, std::int64_t begin, std::int64_t count) {
  if (view.shape[axis] == 1) return view;
  const auto* data = static_cast<const char*>(view.data);
  view.data = data + begin * view.strides[axis] * static_cast<std::int64_t>(size_of(view.dtype));
  view.shape[axis] = count;
  return view;
}

}  // namespace qkv

#endif  // QKV_SRC_SURVEY_AXIS_SLICE_H_
