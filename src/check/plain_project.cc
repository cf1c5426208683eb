// Matrix products and LayerNorm, textbook style, in the type of their tensors.
#include <cmath>

#include "src/check/plain_layer.h"
#include "src/core/status_macros.h"
#include "src/ops/project/check_project.h"

namespace qkv::check {
namespace {

using reference::LayerNormGradients;
using reference::LayerNormParameters;
using reference::ProjectGradients;

bool is_double(View<const void> x) { return x.dtype == DType::kF64; }

template <class Real>
Real element(const View<const void>& view, std::int64_t offset) {
  return static_cast<Real>(element_as_double(view, offset));
}

// Σ_i a[i·a_step] · b[i·b_step], from the last to the first.
template <class Real>
Real dot(const Real* a, std::int64_t a_step, const Real* b, std::int64_t b_step, std::int64_t count) {
  Real sum = 0;
  for (std::int64_t i = count; i-- > 0;) sum += a[i * a_step] * b[i * b_step];
  return sum;
}

template <class Real>
Result<Tensor> project(const ProjectShape& shape, View<const void> x, View<const void> w, View<const void> b,
                       DType output) {
  constexpr DType kReal = dtype_of<Real>();
  QKV_ASSIGN_OR_RETURN(const Tensor rows, converted(x, kReal));
  QKV_ASSIGN_OR_RETURN(const Tensor columns, converted(w, kReal));
  QKV_ASSIGN_OR_RETURN(Tensor y, Tensor::zeros(kReal, shape.y));
  for (std::int64_t r = 0; r < shape.rows; ++r)
    for (std::int64_t e = 0; e < shape.out; ++e) {
      Real sum = dot(rows.data<Real>() + r * shape.in, 1, columns.data<Real>() + e, shape.out, shape.in);
      if (b.is_present()) sum += element<Real>(b, e * b.strides[0]);
      y.data<Real>()[r * shape.out + e] = sum;
    }
  return converted(y.view(), output);
}

template <class Real>
Result<ProjectGradients> project_gradients(const ProjectShape& shape, View<const void> x, View<const void> w,
                                           View<const void> d_y, DType output) {
  constexpr DType kReal = dtype_of<Real>();
  QKV_ASSIGN_OR_RETURN(const Tensor rows, converted(x, kReal));
  QKV_ASSIGN_OR_RETURN(const Tensor columns, converted(w, kReal));
  QKV_ASSIGN_OR_RETURN(const Tensor given, converted(d_y, kReal));
  QKV_ASSIGN_OR_RETURN(Tensor dx, Tensor::zeros(kReal, x.shape));
  QKV_ASSIGN_OR_RETURN(Tensor dw, Tensor::zeros(kReal, w.shape));
  QKV_ASSIGN_OR_RETURN(Tensor db, Tensor::zeros(kReal, {shape.out}));
  const Real* dy = given.data<Real>();
  for (std::int64_t r = 0; r < shape.rows; ++r)
    for (std::int64_t c = 0; c < shape.in; ++c)
      dx.data<Real>()[r * shape.in + c] =
          dot(dy + r * shape.out, 1, columns.data<Real>() + c * shape.out, 1, shape.out);
  for (std::int64_t c = 0; c < shape.in; ++c)
    for (std::int64_t e = 0; e < shape.out; ++e)
      dw.data<Real>()[c * shape.out + e] = dot(rows.data<Real>() + c, shape.in, dy + e, shape.out, shape.rows);
  for (std::int64_t r = shape.rows; r-- > 0;)
    for (std::int64_t e = 0; e < shape.out; ++e) db.data<Real>()[e] += dy[r * shape.out + e];
  ProjectGradients out;
  QKV_ASSIGN_OR_RETURN(out.dx, converted(dx.view(), output));
  QKV_ASSIGN_OR_RETURN(out.dw, converted(dw.view(), output));
  QKV_ASSIGN_OR_RETURN(out.db, converted(db.view(), output));
  return out;
}

// The numbers of one row that both directions of the norm need.
template <class Real>
struct Row {
  Real mean, sigma;
  Row(const Real* x, std::int64_t count, double eps) {
    Real sum = 0;
    for (std::int64_t c = count; c-- > 0;) sum += x[c];
    mean = sum / static_cast<Real>(count);
    Real squares = 0;
    for (std::int64_t c = count; c-- > 0;) squares += (x[c] - mean) * (x[c] - mean);
    sigma = std::sqrt(squares / static_cast<Real>(count) + static_cast<Real>(eps));
  }
};

template <class Real>
Result<Tensor> layernorm(View<const void> x, const LayerNormParameters& p, DType output) {
  const std::int64_t count = x.shape[x.shape.rank() - 1];
  QKV_ASSIGN_OR_RETURN(Tensor u, converted(x, dtype_of<Real>()));
  for (std::int64_t start = 0; start < u.size(); start += count) {
    Real* row = u.data<Real>() + start;
    const Row<Real> numbers(row, count, p.eps);
    for (std::int64_t c = 0; c < count; ++c) {
      row[c] = (row[c] - numbers.mean) / numbers.sigma;
      if (p.gamma.is_present()) row[c] *= element<Real>(p.gamma, c * p.gamma.strides[0]);
      if (p.beta.is_present()) row[c] += element<Real>(p.beta, c * p.beta.strides[0]);
    }
  }
  return converted(u.view(), output);
}

template <class Real>
Result<LayerNormGradients> layernorm_gradients(View<const void> x, View<const void> d_u, const LayerNormParameters& p,
                                               DType output) {
  constexpr DType kReal = dtype_of<Real>();
  const std::int64_t count = x.shape[x.shape.rank() - 1];
  QKV_ASSIGN_OR_RETURN(const Tensor rows, converted(x, kReal));
  QKV_ASSIGN_OR_RETURN(const Tensor given, converted(d_u, kReal));
  QKV_ASSIGN_OR_RETURN(Tensor dx, Tensor::zeros(kReal, x.shape));
  QKV_ASSIGN_OR_RETURN(Tensor dgamma, Tensor::zeros(kReal, {count}));
  QKV_ASSIGN_OR_RETURN(Tensor dbeta, Tensor::zeros(kReal, {count}));
  for (std::int64_t start = 0; start < rows.size(); start += count) {
    const Real* row = rows.data<Real>() + start;
    const Real* du = given.data<Real>() + start;
    const Row<Real> numbers(row, count, p.eps);
    const auto xhat = [&](std::int64_t c) { return (row[c] - numbers.mean) / numbers.sigma; };
    const auto g = [&](std::int64_t c) {
      return p.gamma.is_present() ? du[c] * element<Real>(p.gamma, c * p.gamma.strides[0]) : du[c];
    };
    Real sum = 0, along = 0;
    for (std::int64_t c = count; c-- > 0;) {
      sum += g(c);
      along += g(c) * xhat(c);
      dgamma.data<Real>()[c] += du[c] * xhat(c);
      dbeta.data<Real>()[c] += du[c];
    }
    const auto n = static_cast<Real>(count);
    for (std::int64_t c = 0; c < count; ++c)
      dx.data<Real>()[start + c] = (g(c) - sum / n - xhat(c) * (along / n)) / numbers.sigma;
  }
  LayerNormGradients out;
  QKV_ASSIGN_OR_RETURN(out.dx, converted(dx.view(), output));
  QKV_ASSIGN_OR_RETURN(out.dgamma, converted(dgamma.view(), output));
  QKV_ASSIGN_OR_RETURN(out.dbeta, converted(dbeta.view(), output));
  return out;
}

}  // namespace

Result<Tensor> plain_project_forward(View<const void> x, View<const void> w, View<const void> b, DType output) {
  QKV_ASSIGN_OR_RETURN(const ProjectShape shape, check_project(x, w, b));
  return is_double(x) ? project<double>(shape, x, w, b, output) : project<float>(shape, x, w, b, output);
}

Result<ProjectGradients> plain_project_backward(View<const void> x, View<const void> w, View<const void> d_y,
                                                DType output) {
  QKV_ASSIGN_OR_RETURN(const ProjectShape shape, check_project(x, w, {}));
  QKV_RETURN_IF_ERROR(check_project_gradient(shape, d_y));
  return is_double(x) ? project_gradients<double>(shape, x, w, d_y, output)
                      : project_gradients<float>(shape, x, w, d_y, output);
}

Result<Tensor> plain_layernorm_forward(View<const void> x, const LayerNormParameters& parameters, DType output) {
  QKV_RETURN_IF_ERROR(reference::layernorm_forward(x, parameters).status());  // its checks
  return is_double(x) ? layernorm<double>(x, parameters, output) : layernorm<float>(x, parameters, output);
}

Result<LayerNormGradients> plain_layernorm_backward(View<const void> x, View<const void> d_u,
                                                    const LayerNormParameters& parameters, DType output) {
  QKV_RETURN_IF_ERROR(reference::layernorm_backward(x, d_u, parameters).status());
  return is_double(x) ? layernorm_gradients<double>(x, d_u, parameters, output)
                      : layernorm_gradients<float>(x, d_u, parameters, output);
}

}  // namespace qkv::check
