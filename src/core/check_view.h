// Checks that every operation makes of a tensor that it is given: its type and its memory.
#ifndef QKV_SRC_CORE_CHECK_VIEW_H_
#define QKV_SRC_CORE_CHECK_VIEW_H_

#include <string_view>

#include "qkv/status.h"
#include "qkv/tensor.h"
#include "src/core/shape_table.h"

namespace qkv {

// That strides are there and not negative, that the elements can be counted and that there is memory for them.
// Errors: kShapeMismatch naming the tensor.
Status check_memory(const ShapeTable& table, std::string_view name, View<const void> view);

// That the type is one of f64 f32 bf16 f16. Errors: kShapeMismatch naming the tensor and its type.
Status check_floating(const ShapeTable& table, std::string_view name, View<const void> view);

}  // namespace qkv

#endif  // QKV_SRC_CORE_CHECK_VIEW_H_
