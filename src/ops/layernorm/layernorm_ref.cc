// LayerNorm row by row: mean, variance about it, and the two again for the gradient.
#include "src/ops/layernorm/layernorm_ref.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "src/core/status_macros.h"
#include "src/ops/layernorm/check_layernorm.h"

namespace qkv::reference {
namespace {

Dims without_last_axis(const Dims& shape) {
  Dims rows;
  for (int axis = 0; axis + 1 < shape.rank(); ++axis) rows.push_back(shape[axis]);
  return rows;
}

// "[1,3]" for row 8 of x [2,5,C].
std::string row_name(std::int64_t row, const Dims& rows) {
  Dims index = rows;
  for (int axis = rows.rank() - 1; axis >= 0; --axis) {
    index[axis] = row % rows[axis];
    row /= rows[axis];
  }
  return to_string(index);
}

// Shape: row [C]. The mean of equal numbers is that number, which a rounded sum may miss.
double row_mean(const double* row, std::int64_t count) {
  if (std::all_of(row, row + count, [&](double value) { return value == row[0]; })) return row[0];
  double sum = 0;
  for (std::int64_t c = 0; c < count; ++c) sum += row[c];
  return sum / static_cast<double>(count);
}

double row_variance(const double* row, std::int64_t count, double mean) {
  double sum = 0;
  for (std::int64_t c = 0; c < count; ++c) sum += (row[c] - mean) * (row[c] - mean);
  return sum / static_cast<double>(count);
}

double element_or(View<const void> vector, std::int64_t c, double absent) {
  return vector.is_present() ? element_as_double(vector, c * vector.strides[0]) : absent;
}

// One row's share of the gradients. Shapes: all [C].
struct RowGradient {
  const double* x;
  const double* du;
  double* dx;
  double* dgamma;
  double* dbeta;
};

void add_row(const RowGradient& row, View<const void> gamma, std::int64_t count, double mean, double sigma) {
  double mean_g = 0;
  double mean_g_xhat = 0;
  for (std::int64_t c = 0; c < count; ++c) {
    const double xhat = (row.x[c] - mean) / sigma;
    const double g = row.du[c] * element_or(gamma, c, 1);
    mean_g += g / static_cast<double>(count);
    mean_g_xhat += g * xhat / static_cast<double>(count);
    row.dgamma[c] += row.du[c] * xhat;
    row.dbeta[c] += row.du[c];
  }
  for (std::int64_t c = 0; c < count; ++c) {
    const double xhat = (row.x[c] - mean) / sigma;
    row.dx[c] = (row.du[c] * element_or(gamma, c, 1) - mean_g - xhat * mean_g_xhat) / sigma;
  }
}

}  // namespace

Result<LayerNormResult> layernorm_forward(View<const void> x, const LayerNormParameters& parameters) {
  QKV_RETURN_IF_ERROR(check_layernorm(x, {parameters.gamma, parameters.beta, parameters.eps}));
  const std::int64_t count = x.shape[x.shape.rank() - 1];
  const Dims rows = without_last_axis(x.shape);
  LayerNormResult result;
  QKV_ASSIGN_OR_RETURN(result.u, converted(x, DType::kF64));
  QKV_ASSIGN_OR_RETURN(result.mean, Tensor::zeros(DType::kF64, rows));
  QKV_ASSIGN_OR_RETURN(result.sigma, Tensor::zeros(DType::kF64, rows));
  double* row = result.u.data<double>();
  for (std::int64_t r = 0; r < result.mean.size(); ++r, row += count) {
    const double mean = row_mean(row, count);
    const double spread = row_variance(row, count, mean) + parameters.eps;
    if (spread == 0)
      return invalid_argument("layernorm: row " + row_name(r, rows) + " of x " + to_string(x.shape) +
                              " has variance 0 and eps is 0, so there is nothing to divide by; give an eps > 0");
    const double sigma = std::sqrt(spread);
    result.mean.data<double>()[r] = mean;
    result.sigma.data<double>()[r] = sigma;
    for (std::int64_t c = 0; c < count; ++c)
      row[c] = (row[c] - mean) / sigma * element_or(parameters.gamma, c, 1) + element_or(parameters.beta, c, 0);
  }
  return result;
}

Result<LayerNormGradients> layernorm_backward(View<const void> x, View<const void> d_u,
                                              const LayerNormParameters& parameters) {
  QKV_ASSIGN_OR_RETURN(const LayerNormResult forward, layernorm_forward(x, parameters));
  QKV_RETURN_IF_ERROR(check_layernorm_gradient(x, d_u));
  const std::int64_t count = x.shape[x.shape.rank() - 1];
  QKV_ASSIGN_OR_RETURN(const Tensor rows, converted(x, DType::kF64));
  QKV_ASSIGN_OR_RETURN(const Tensor given, converted(d_u, DType::kF64));
  LayerNormGradients out;
  QKV_ASSIGN_OR_RETURN(out.dx, Tensor::zeros(DType::kF64, x.shape));
  QKV_ASSIGN_OR_RETURN(out.dgamma, Tensor::zeros(DType::kF64, {count}));
  QKV_ASSIGN_OR_RETURN(out.dbeta, Tensor::zeros(DType::kF64, {count}));
  for (std::int64_t r = 0; r < forward.mean.size(); ++r) {
    const std::int64_t start = r * count;
    const RowGradient row{rows.data<double>() + start, given.data<double>() + start, out.dx.data<double>() + start,
                          out.dgamma.data<double>(), out.dbeta.data<double>()};
    add_row(row, parameters.gamma, count, forward.mean.data<double>()[r], forward.sigma.data<double>()[r]);
  }
  return out;
}

}  // namespace qkv::reference
