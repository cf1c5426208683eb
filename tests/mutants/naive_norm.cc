// Mean, variance, and what follows.
#include "tests/mutants/naive_norm.h"

#include <cmath>
#include <cstddef>

namespace mutants {
namespace {

using Index = std::int64_t;

// Where element `at` of row `row` lies, and how many there are.
struct Line {
  Index first, step, count;
  std::size_t operator()(Index at) const { return static_cast<std::size_t>(first + at * step); }
};

std::vector<Line> lines_of(const NaiveNorm& norm, const Edits& edits) {
  std::vector<Line> lines;
  const Index entry = norm.tokens * norm.channels;
  for (Index b = 0; b < norm.batch; ++b) {
    if (edits.has(Edit::kNormOverTokens))
      for (Index c = 0; c < norm.channels; ++c) lines.push_back({b * entry + c, norm.channels, norm.tokens});
    else
      for (Index t = 0; t < norm.tokens; ++t) lines.push_back({b * entry + t * norm.channels, 1, norm.channels});
  }
  return lines;
}

struct Moments {
  float mean = 0, sigma = 1;
};

Moments moments_of(const NaiveNorm& norm, const Line& line, const Edits& edits) {
  Moments found;
  const auto count = static_cast<float>(line.count);
  float sum = 0;
  float squares = 0;
  for (Index i = 0; i < line.count; ++i) {
    sum += norm.x[line(i)];
    squares += norm.x[line(i)] * norm.x[line(i)];
  }
  if (!edits.has(Edit::kNoMean)) found.mean = sum / count;
  float variance = 0;
  for (Index i = 0; i < line.count; ++i) {
    const float apart = norm.x[line(i)] - found.mean;
    variance += apart * apart;
  }
  variance /= edits.has(Edit::kUnbiasedVariance) ? count - 1 : count;
  if (edits.has(Edit::kOnePassVariance)) variance = squares / count - found.mean * found.mean;
  const float eps = edits.has(Edit::kEpsAlways) ? static_cast<float>(edits.number(Edit::kEpsAlways)) : norm.eps;
  found.sigma = edits.has(Edit::kEpsOutside) ? std::sqrt(variance) + eps : std::sqrt(variance + eps);
  return found;
}

float gain(const NaiveNorm& norm, std::size_t at, const Edits& edits) {
  if (edits.has(Edit::kNoGamma)) return 1;
  const float gamma = norm.gamma[at % static_cast<std::size_t>(norm.channels)];
  return edits.has(Edit::kOnePlusGamma) ? 1 + gamma : gamma;
}

}  // namespace

std::vector<float> norm_forward(const NaiveNorm& norm, const Edits& edits) {
  if (edits.has(Edit::kNoNorm)) return norm.x;
  std::vector<float> y(norm.x.size());
  for (const Line& line : lines_of(norm, edits)) {
    const Moments m = moments_of(norm, line, edits);
    for (Index i = 0; i < line.count; ++i) {
      const std::size_t at = line(i);
      y[at] = (norm.x[at] - (edits.has(Edit::kNotCentred) ? 0 : m.mean)) / m.sigma * gain(norm, at, edits);
      if (!edits.has(Edit::kNoBeta)) y[at] += norm.beta[at % static_cast<std::size_t>(norm.channels)];
    }
  }
  return y;
}

NaiveNormGradients norm_backward(const NaiveNorm& norm, const std::vector<float>& dy, const Edits& edits) {
  const auto channels = static_cast<std::size_t>(norm.channels);
  NaiveNormGradients out{std::vector<float>(dy.size()), std::vector<float>(channels), std::vector<float>(channels)};
  for (const Line& line : lines_of(norm, edits)) {
    const Moments m = moments_of(norm, line, edits);
    const auto count = static_cast<float>(line.count);
    float mean_g = 0;
    float mean_gx = 0;
    for (Index i = 0; i < line.count; ++i) {
      const std::size_t at = line(i);
      const float normal = (norm.x[at] - m.mean) / m.sigma;
      const float g = dy[at] * gain(norm, at, edits);
      mean_g += g / count;
      mean_gx += g * normal / count;
      out.dgamma[at % channels] += dy[at] * (edits.has(Edit::kGammaFromInput) ? norm.x[at] : normal);
      out.dbeta[at % channels] += dy[at];
    }
    if (edits.has(Edit::kMeanTwice)) mean_g *= 2;
    if (edits.has(Edit::kNoMeanBack)) mean_g = 0;
    if (edits.has(Edit::kSigmaConstant)) mean_gx = 0;
    for (Index i = 0; i < line.count; ++i) {
      const std::size_t at = line(i);
      const float normal = (norm.x[at] - m.mean) / m.sigma;
      out.dx[at] = (dy[at] * gain(norm, at, edits) - mean_g - normal * mean_gx) / m.sigma;
    }
  }
  return out;
}

}  // namespace mutants
