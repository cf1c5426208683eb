// The sentences about one tensor's type and memory.
#include "src/core/check_view.h"

#include <string>

namespace qkv {

Status check_memory(const ShapeTable& table, std::string_view name, View<const void> view) {
  for (int axis = 0; axis < view.strides.rank(); ++axis)
    if (view.strides[axis] < 0)
      return shape_mismatch(table.message(std::string(name) + " has a negative stride " + to_string(view.strides) +
                                          "; copy it into forward order first"));
  if (view.strides.rank() != view.shape.rank())
    return shape_mismatch(table.message(std::string(name) + " has shape " + to_string(view.shape) + " but strides " +
                                        to_string(view.strides)));
  if (element_count(view.shape) < 0)
    return shape_mismatch(table.message(std::string(name) + " has more than 2^63 elements"));
  if (view.data == nullptr && element_count(view.shape) > 0)
    return shape_mismatch(table.message(std::string(name) + " has no memory (a null pointer)"));
  return {};
}

Status check_floating(const ShapeTable& table, std::string_view name, View<const void> view) {
  if (is_floating(view.dtype)) return {};
  return shape_mismatch(table.message(std::string(name) + " is " + std::string(to_string(view.dtype)) +
                                      "; expected f64, f32, bf16 or f16"));
}

}  // namespace qkv
