// Matrix products in three plain loops.
#include "src/ops/project/project_ref.h"

#include <string>

#include "src/core/check_view.h"
#include "src/core/shape_table.h"
#include "src/core/status_macros.h"

namespace qkv::reference {
namespace {

struct ProjectShape {
  std::int64_t rows = 0, in = 0, out = 0;  // x [rows,in], w [in,out]
  Dims y;
};

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

double weight(const View<const void>& w, std::int64_t c, std::int64_t e) {
  return element_as_double(w, c * w.strides[0] + e * w.strides[1]);
}

}  // namespace

Result<Tensor> project_forward(View<const void> x, View<const void> w, View<const void> b) {
  QKV_ASSIGN_OR_RETURN(const ProjectShape shape, check_project(x, w, b));
  QKV_ASSIGN_OR_RETURN(const Tensor rows, converted(x, DType::kF64));
  QKV_ASSIGN_OR_RETURN(Tensor y, Tensor::zeros(DType::kF64, shape.y));
  const double* row = rows.data<double>();
  double* out = y.data<double>();
  for (std::int64_t r = 0; r < shape.rows; ++r, row += shape.in, out += shape.out)
    for (std::int64_t e = 0; e < shape.out; ++e) {
      for (std::int64_t c = 0; c < shape.in; ++c) out[e] += row[c] * weight(w, c, e);
      if (b.is_present()) out[e] += element_as_double(b, e * b.strides[0]);
    }
  return y;
}

Result<ProjectGradients> project_backward(View<const void> x, View<const void> w, View<const void> d_y) {
  QKV_ASSIGN_OR_RETURN(const ProjectShape shape, check_project(x, w, {}));
  const ShapeTable table("project");
  if (d_y.shape != shape.y)
    return shape_mismatch(
        table.message("d_y is " + to_string(d_y.shape) + "; expected " + to_string(shape.y) + ", the shape of y"));
  QKV_RETURN_IF_ERROR(check_floating(table, "d_y", d_y));
  QKV_RETURN_IF_ERROR(check_memory(table, "d_y", d_y));
  QKV_ASSIGN_OR_RETURN(const Tensor rows, converted(x, DType::kF64));
  QKV_ASSIGN_OR_RETURN(const Tensor given, converted(d_y, DType::kF64));
  ProjectGradients out;
  QKV_ASSIGN_OR_RETURN(out.dx, Tensor::zeros(DType::kF64, x.shape));
  QKV_ASSIGN_OR_RETURN(out.dw, Tensor::zeros(DType::kF64, {shape.in, shape.out}));
  QKV_ASSIGN_OR_RETURN(out.db, Tensor::zeros(DType::kF64, {shape.out}));
  double* db = out.db.data<double>();
  for (std::int64_t r = 0; r < shape.rows; ++r) {
    const double* row = rows.data<double>() + r * shape.in;
    const double* dy = given.data<double>() + r * shape.out;
    double* dx = out.dx.data<double>() + r * shape.in;
    for (std::int64_t e = 0; e < shape.out; ++e) db[e] += dy[e];
    for (std::int64_t c = 0; c < shape.in; ++c)
      for (std::int64_t e = 0; e < shape.out; ++e) {
        dx[c] += dy[e] * weight(w, c, e);
        out.dw.data<double>()[c * shape.out + e] += row[c] * dy[e];
      }
  }
  return out;
}

}  // namespace qkv::reference
