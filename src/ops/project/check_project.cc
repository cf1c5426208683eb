// The sentence for each rule of a projection that is broken.
#include "src/ops/project/check_project.h"

#include <string>

#include "src/core/check_view.h"
#include "src/core/shape_table.h"
#include "src/core/status_macros.h"
#include "src/core/view_memory.h"

namespace qkv {

Result<ProjectShape> check_project(View<const void> x, View<const void> w, View<const void> b) {
  ShapeTable table("project");
  if (x.shape.rank() < 1) return shape_mismatch("project: x [...,C] has no axes");
  QKV_RETURN_IF_ERROR(check_floating(table, "x", x));
  QKV_RETURN_IF_ERROR(check_memory(table, "x", x));
  ProjectShape shape;
  shape.in = x.shape[x.shape.rank() - 1];
  table.define("C", shape.in, "x", x.shape);
  QKV_RETURN_IF_ERROR(table.match("w", {"C", "E"}, w.shape));
  QKV_RETURN_IF_ERROR(check_floating(table, "w", w));
  QKV_RETURN_IF_ERROR(check_memory(table, "w", w));
  if (b.is_present()) {
    QKV_RETURN_IF_ERROR(table.match("b", {"E"}, b.shape));
    QKV_RETURN_IF_ERROR(check_floating(table, "b", b));
    QKV_RETURN_IF_ERROR(check_memory(table, "b", b));
  }
  shape.out = table["E"];
  shape.rows = 1;
  for (int axis = 0; axis + 1 < x.shape.rank(); ++axis) shape.rows *= x.shape[axis];
  shape.y = x.shape;
  shape.y[x.shape.rank() - 1] = shape.out;
  return shape;
}

Status check_project_gradient(const ProjectShape& shape, View<const void> d_y) {
  const ShapeTable table("project");
  if (d_y.shape != shape.y)
    return shape_mismatch(
        table.message("d_y is " + to_string(d_y.shape) + "; expected " + to_string(shape.y) + ", the shape of y"));
  QKV_RETURN_IF_ERROR(check_floating(table, "d_y", d_y));
  return check_memory(table, "d_y", d_y);
}

Status check_project_output(std::string_view name, View<const void> output, const Dims& shape, View<const void> x) {
  const ShapeTable table("project");
  const std::string called(name);
  if (output.shape != shape)
    return shape_mismatch(table.message(called + " is " + to_string(output.shape) + "; expected " + to_string(shape)));
  QKV_RETURN_IF_ERROR(check_floating(table, name, output));
  QKV_RETURN_IF_ERROR(check_memory(table, name, output));
  if ((output.dtype == DType::kF64) != (x.dtype == DType::kF64))
    return shape_mismatch(table.message(called + " is " + std::string(to_string(output.dtype)) + " but x is " +
                                        std::string(to_string(x.dtype)) + "; f64 goes with f64 only"));
  if (overlaps_itself(output))
    return shape_mismatch(
        table.message(called + " has strides " + to_string(output.strides) + " that put two elements in one place"));
  return {};
}

}  // namespace qkv
