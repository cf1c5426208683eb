// LayerNorm of some rows and its gradient, channels in lanes; compiled once per SIMD target, dispatched at the end.
#include "src/ops/layernorm/layernorm_kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/layernorm/layernorm_kernel.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/ops/dot/dot-inl.h"
#include "src/ops/dot/store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rows are padded to whole vectors, so that no loop has a scalar end; sums leave the padding out.
template <class C>
std::int64_t padded_channels(std::int64_t channels) {
  return static_cast<std::int64_t>(hwy::RoundUpTo(static_cast<std::size_t>(channels), hn::MaxLanes(Tag<C>())));
}

// The arrays of one task, each [padded].
template <class C>
struct RowScratch {
  static constexpr std::int64_t kRows = 5;
  C *x, *du, *gamma, *beta, *out;
  std::int64_t channels, padded;

  RowScratch(const LayerNormCall& call, void* memory)
      : channels(call.x.shape[2]), padded(padded_channels<C>(channels)) {
    auto* at = static_cast<C*>(memory);
    x = at;
    du = at + padded;
    gamma = at + 2 * padded;
    beta = at + 3 * padded;
    out = at + 4 * padded;
    std::fill_n(at, kRows * padded, C{0});
    load_weights(call.weights.gamma, C{1}, gamma);
    load_weights(call.weights.beta, C{0}, beta);
  }

 private:
  void load_weights(View<const void> weights, C absent, C* to) const {
    if (weights.is_present())
      load_row(weights, 0, weights.strides[0], static_cast<std::size_t>(channels), to);
    else
      std::fill_n(to, channels, absent);
  }
};

template <class V>
HWY_INLINE std::int64_t row_offset(const V& view, std::int64_t row) {
  const std::int64_t length = view.shape[1];
  return row / length * view.strides[0] + row % length * view.strides[1];
}

template <class C>
HWY_INLINE void load_channels(const View<const void>& view, std::int64_t row, C* HWY_RESTRICT to) {
  load_row(view, row_offset(view, row), view.strides[2], static_cast<std::size_t>(view.shape[2]), to);
}

template <class C>
HWY_INLINE void store_channels(const C* HWY_RESTRICT from, const View<void>& view, std::int64_t row) {
  store_row(from, static_cast<std::size_t>(view.shape[2]), view, row_offset(view, row), view.strides[2]);
}

// Σ_c term(c) over the channels, a vector at c, four sums side by side; what a term is behind them does not count.
template <class C, class Term>
HWY_INLINE C sum_channels(std::int64_t channels, const Term& term) {
  const Tag<C> d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  std::int64_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) {
    s0 = hn::Add(s0, term(c));
    s1 = hn::Add(s1, term(c + kLanes));
    s2 = hn::Add(s2, term(c + 2 * kLanes));
    s3 = hn::Add(s3, term(c + 3 * kLanes));
  }
  for (; c + kLanes <= channels; c += kLanes) s0 = hn::Add(s0, term(c));
  if (c < channels) {
    const auto inside = hn::FirstN(d, static_cast<std::size_t>(channels - c));
    s1 = hn::Add(s1, hn::IfThenElseZero(inside, term(c)));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

// The mean is mean + rest: one number of the type would cut off digits of a small spread about a large mean.
template <class C>
struct Moments {
  C mean, rest;
  C inverse;  // 1 / √(var + eps); infinite for a constant row and eps = 0, whose 0 · ∞ is NaN
  C var;
  C factor = 1;  // of the row, see moments_in_range()

  HWY_INLINE hn::Vec<Tag<C>> centered(hn::Vec<Tag<C>> x) const {
    const Tag<C> d;
    return hn::Sub(hn::Sub(x, hn::Set(d, mean)), hn::Set(d, rest));
  }
};

// The mean is taken relative to the first element: a constant row has mean x[0] and variance 0 exactly.
template <class C>
HWY_INLINE Moments<C> moments(const C* HWY_RESTRICT x, std::int64_t channels, double eps) {
  const Tag<C> d;
  const auto count = static_cast<C>(channels);
  const auto mean_about = [&](C center) HWY_ATTR {
    const auto from = hn::Set(d, center);
    return sum_channels<C>(channels, [&](std::int64_t c) HWY_ATTR { return hn::Sub(hn::Load(d, x + c), from); }) /
           count;
  };
  Moments<C> m{x[0] + mean_about(x[0]), 0, 0, 0};
  m.rest = mean_about(m.mean);
  const C squares = sum_channels<C>(channels, [&](std::int64_t c) HWY_ATTR {
    const auto difference = m.centered(hn::Load(d, x + c));
    return hn::Mul(difference, difference);
  });
  m.var = squares / count;
  m.inverse = C{1} / std::sqrt(m.var + static_cast<C>(eps));
  return m;
}

// The power of two that brings a row's largest number near 1, or as far as eps · factor² stays near 1 too.
template <class C>
HWY_NOINLINE C factor_into_range(const C* x, std::int64_t channels, double eps) {
  constexpr int kLargest = std::numeric_limits<C>::max_exponent - 2;
  C largest = 0;
  for (std::int64_t c = 0; c < channels; ++c) largest = std::max(largest, std::fabs(x[c]));
  if (!std::isfinite(largest) || largest == 0) return 1;
  int exponent = 0, of_eps = -2 * kLargest;
  std::frexp(largest, &exponent);
  if (eps > 0) std::frexp(eps, &of_eps);
  return static_cast<C>(std::ldexp(1.0, std::clamp(-exponent, -kLargest, std::min(kLargest, -of_eps / 2))));
}

// The moments of x, or of x · factor where the squares of x leave the type's range: u does not change with the factor,
// dx is multiplied by it.
template <class C>
HWY_INLINE Moments<C> moments_in_range(C* HWY_RESTRICT x, std::int64_t channels, double eps) {
  constexpr C kSmallest = sizeof(C) == 4 ? static_cast<C>(1e-30) : static_cast<C>(1e-290);  // no square was rounded off
  const Moments<C> m = moments(x, channels, eps);
  const bool too_small = m.var < kSmallest && eps < static_cast<double>(kSmallest);
  if (!too_small && m.var <= std::numeric_limits<C>::max()) return m;
  const C factor = factor_into_range(x, channels, eps);
  if (factor == 1) return m;
  for (std::int64_t c = 0; c < channels; ++c) x[c] *= factor;
  Moments<C> scaled = moments(x, channels, eps * static_cast<double>(factor) * static_cast<double>(factor));
  scaled.factor = factor;
  return scaled;
}

template <class C>
void forward_rows(const LayerNormCall& call, std::int64_t begin, std::int64_t count, void* memory) {
  const Tag<C> d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  const RowScratch<C> row(call, memory);
  for (std::int64_t r = begin; r < begin + count; ++r) {
    load_channels(call.x, r, row.x);
    const Moments<C> m = moments_in_range(row.x, row.channels, call.weights.eps);
    const auto inverse = hn::Set(d, m.inverse);
    for (std::int64_t c = 0; c < row.padded; c += kLanes) {
      const auto xhat = hn::Mul(m.centered(hn::Load(d, row.x + c)), inverse);
      hn::Store(hn::MulAdd(xhat, hn::Load(d, row.gamma + c), hn::Load(d, row.beta + c)), d, row.out + c);
    }
    store_channels(row.out, call.u, r);
  }
}

// dx = (g − mean(g) − xhat · mean(g ⊙ xhat)) · inverse with g = du ⊙ gamma.
template <class C>
void backward_rows(const LayerNormCall& call, std::int64_t begin, std::int64_t count, void* sums, void* memory) {
  const Tag<C> d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  const RowScratch<C> row(call, memory);
  C* HWY_RESTRICT dgamma = static_cast<C*>(sums);
  C* HWY_RESTRICT dbeta = dgamma + row.padded;
  std::fill_n(dgamma, 2 * row.padded, C{0});
  for (std::int64_t r = begin; r < begin + count; ++r) {
    load_channels(call.x, r, row.x);
    load_channels(call.d_u, r, row.du);
    const Moments<C> m = moments_in_range(row.x, row.channels, call.weights.eps);
    const auto inverse = hn::Set(d, m.inverse), factor = hn::Set(d, m.factor);
    const auto xhat = [&](std::int64_t c) HWY_ATTR { return hn::Mul(m.centered(hn::Load(d, row.x + c)), inverse); };
    const auto g = [&](std::int64_t c)
                       HWY_ATTR { return hn::Mul(hn::Load(d, row.du + c), hn::Load(d, row.gamma + c)); };
    const auto channels = static_cast<C>(row.channels);
    const auto mean_g = hn::Set(d, sum_channels<C>(row.channels, g) / channels);
    const auto along = hn::Set(
        d, sum_channels<C>(row.channels, [&](std::int64_t c) HWY_ATTR { return hn::Mul(g(c), xhat(c)); }) / channels);
    for (std::int64_t c = 0; c < row.padded; c += kLanes) {
      const auto du = hn::Load(d, row.du + c);
      hn::Store(hn::MulAdd(du, xhat(c), hn::Load(d, dgamma + c)), d, dgamma + c);
      hn::Store(hn::Add(du, hn::Load(d, dbeta + c)), d, dbeta + c);
      const auto centered = hn::NegMulAdd(xhat(c), along, hn::Sub(g(c), mean_g));
      hn::Store(hn::Mul(hn::Mul(centered, inverse), factor), d, row.out + c);
    }
    if (call.dx.is_present()) store_channels(row.out, call.dx, r);
  }
}

template <class C>
void add_row_runs(void* memory, std::int64_t runs, std::int64_t stride, View<void> total) {
  auto* sums = static_cast<C*>(memory);
  const std::int64_t channels = total.shape[0];
  for (std::int64_t run = 1; run < runs; ++run)
    for (std::int64_t c = 0; c < channels; ++c) sums[c] += sums[run * stride + c];
  store_row(sums, static_cast<std::size_t>(channels), total, 0, total.strides[0]);
}

template <class C>
LayerNormKernel norms_of() {
  return {sizeof(C), RowScratch<C>::kRows, &padded_channels<C>, &forward_rows<C>, &backward_rows<C>, &add_row_runs<C>};
}

LayerNormKernel make_norms(DType dtype) { return dtype == DType::kF64 ? norms_of<double>() : norms_of<float>(); }

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "src/core/hwy_target.h"

namespace qkv {

HWY_EXPORT(make_norms);

LayerNormKernel layernorm_kernel(Target target, DType dtype) {
  return dispatched(HWY_DISPATCH_TABLE(make_norms), target)(dtype);
}

}  // namespace qkv
#endif  // HWY_ONCE
