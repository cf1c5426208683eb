// Matrix products in three plain loops.
#include "src/ops/project/project_ref.h"

#include "src/core/status_macros.h"
#include "src/ops/project/check_project.h"

namespace qkv::reference {
namespace {

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
  QKV_RETURN_IF_ERROR(check_project_gradient(shape, d_y));
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
