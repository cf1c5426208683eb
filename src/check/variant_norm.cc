// Rows (or, by mistake, columns) brought to mean 0 and variance 1, and the gradient of what was done.
#include "src/check/variant_norm.h"

#include <cmath>
#include <utility>
#include <vector>

#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

using enum MistakeId;

double element_or(View<const void> vector, std::int64_t c, double absent) {
  return vector.is_present() ? element_as_double(vector, c * vector.strides[0]) : absent;
}

// The numbers that are normalised together: every one of a row, or of a channel.
struct Group {
  std::vector<std::int64_t> at;  // in the memory of x
};

std::vector<Group> groups_of(const Dims& shape, const MistakeSet& mistakes) {
  const std::int64_t tokens = shape[shape.rank() - 2];
  const std::int64_t channels = shape[shape.rank() - 1];
  const std::int64_t rows = element_count(shape) / channels;
  std::vector<Group> groups;
  if (mistakes.has(kNormOverTokens)) {
    for (std::int64_t first = 0; first < rows; first += tokens)
      for (std::int64_t c = 0; c < channels; ++c) {
        Group& group = groups.emplace_back();
        for (std::int64_t t = 0; t < tokens; ++t) group.at.push_back((first + t) * channels + c);
      }
    return groups;
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    Group& group = groups.emplace_back();
    for (std::int64_t c = 0; c < channels; ++c) group.at.push_back(row * channels + c);
  }
  return groups;
}

struct Statistics {
  double mean = 0, root = 0, sigma = 0;  // root: √var, or √(var + eps)
  double taken = 0;                      // from x
  double divisor = 1;                    // of the variance
};

double one_pass_variance(const double* x, const Group& group) {
  float sum = 0;
  float squares = 0;
  for (const std::int64_t at : group.at) {
    const auto value = static_cast<float>(x[at]);
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<float>(group.at.size());
  const float mean = sum / count;
  return squares / count - mean * mean;
}

Statistics statistics_of(const double* x, const Group& group, double eps, const MistakeSet& mistakes) {
  const auto count = static_cast<double>(group.at.size());
  Statistics found;
  if (!mistakes.has(kNormWithoutMean))
    for (const std::int64_t at : group.at) found.mean += x[at] / count;
  found.taken = mistakes.has(kNormNotCentred) ? 0 : found.mean;
  found.divisor = mistakes.has(kNormUnbiased) ? count - 1 : count;
  double variance = 0;
  for (const std::int64_t at : group.at) variance += (x[at] - found.mean) * (x[at] - found.mean) / found.divisor;
  if (mistakes.has(kNormOnePass)) variance = one_pass_variance(x, group);
  if (const Mistake* other = mistakes.find(kNormEpsIgnored)) eps = other->parameter;
  const bool outside = mistakes.has(kNormEpsOutside);
  found.root = std::sqrt(outside ? variance : variance + eps);
  found.sigma = outside ? found.root + eps : found.root;
  return found;
}

double factor_of(View<const void> gamma, std::int64_t c, const MistakeSet& mistakes) {
  if (mistakes.has(kNormWithoutGamma)) return 1;
  return element_or(gamma, c, 1) + (mistakes.has(kNormGammaAddsOne) ? 1 : 0);
}

// One group's share of the gradients. dx follows from sigma as it was computed.
void add_gradients(const double* x, const double* d_u, const Group& group, const Statistics& s, View<const void> gamma,
                   std::int64_t channels, const MistakeSet& mistakes, reference::LayerNormGradients& out) {
  const auto count = static_cast<double>(group.at.size());
  double mean_g = 0;
  double d_sigma = 0;
  for (const std::int64_t at : group.at) {
    const std::int64_t c = at % channels;
    const double centred = x[at] - s.taken;
    const double g = d_u[at] * factor_of(gamma, c, mistakes);
    mean_g += g / count;
    d_sigma -= g * centred / (s.sigma * s.sigma);
    out.dgamma.data<double>()[c] += d_u[at] * (mistakes.has(kNormGradientGammaRaw) ? x[at] : centred / s.sigma);
    out.dbeta.data<double>()[c] += d_u[at];
  }
  double times_mean =
      mistakes.has(kNormWithoutMean) || mistakes.has(kNormNotCentred) || mistakes.has(kNormGradientMeanMissing) ? 0 : 1;
  if (mistakes.has(kNormGradientMeanTwice)) times_mean = 2;
  const double d_variance = mistakes.has(kNormGradientSpreadMissing) ? 0 : d_sigma / (2 * s.root);
  for (const std::int64_t at : group.at) {
    const double g = d_u[at] * factor_of(gamma, at % channels, mistakes);
    out.dx.data<double>()[at] = (g - times_mean * mean_g) / s.sigma + d_variance * 2 * (x[at] - s.mean) / s.divisor;
  }
}

}  // namespace

Result<Tensor> norm_variant_forward(View<const void> x, const reference::LayerNormParameters& parameters,
                                    const MistakeSet& mistakes) {
  QKV_ASSIGN_OR_RETURN(Tensor values, converted(x, DType::kF64));
  if (mistakes.has(kNormIgnored)) return values;
  QKV_ASSIGN_OR_RETURN(Tensor u, Tensor::zeros(DType::kF64, x.shape));
  const std::int64_t channels = x.shape[x.shape.rank() - 1];
  const double* from = values.data<double>();
  for (const Group& group : groups_of(x.shape, mistakes)) {
    const Statistics s = statistics_of(from, group, parameters.eps, mistakes);
    for (const std::int64_t at : group.at) {
      const std::int64_t c = at % channels;
      const double shift = mistakes.has(kNormWithoutBeta) ? 0 : element_or(parameters.beta, c, 0);
      u.data<double>()[at] = (from[at] - s.taken) / s.sigma * factor_of(parameters.gamma, c, mistakes) + shift;
    }
  }
  return u;
}

Result<reference::LayerNormGradients> norm_variant_backward(View<const void> x, View<const void> d_u,
                                                            const reference::LayerNormParameters& parameters,
                                                            const MistakeSet& mistakes) {
  const std::int64_t channels = x.shape[x.shape.rank() - 1];
  QKV_ASSIGN_OR_RETURN(Tensor values, converted(x, DType::kF64));
  QKV_ASSIGN_OR_RETURN(Tensor given, converted(d_u, DType::kF64));
  reference::LayerNormGradients out;
  QKV_ASSIGN_OR_RETURN(out.dx, Tensor::zeros(DType::kF64, x.shape));
  QKV_ASSIGN_OR_RETURN(out.dgamma, Tensor::zeros(DType::kF64, {channels}));
  QKV_ASSIGN_OR_RETURN(out.dbeta, Tensor::zeros(DType::kF64, {channels}));
  if (mistakes.has(kNormIgnored)) {
    out.dx = std::move(given);
    return out;
  }
  for (const Group& group : groups_of(x.shape, mistakes)) {
    const Statistics s = statistics_of(values.data<double>(), group, parameters.eps, mistakes);
    add_gradients(values.data<double>(), given.data<double>(), group, s, parameters.gamma, channels, mistakes, out);
  }
  return out;
}

}  // namespace qkv::check
