// exp2 and tanh in lanes, per SIMD target.
// Two things are per target here (exp2 has a two-instruction scaling on AVX-512), everything else is one source.

#if defined(QKV_SRC_OPS_EXP_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_EXP_EXP_INL_H_
#undef QKV_SRC_OPS_EXP_EXP_INL_H_
#else
#define QKV_SRC_OPS_EXP_EXP_INL_H_
#endif

#include <cmath>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 2^r on [0, 1], minimax in relative error with p(0) = 1 exactly (Remez, scripts/fit_polynomials.py):
// 2.0e-9 for f32 (degree 6), 3.2e-18 for f64 (degree 11).
template <class D>
  requires(sizeof(hn::TFromD<D>) == 4)
HWY_INLINE hn::Vec<D> exp2_polynomial(D d, hn::Vec<D> r) {
  auto p = hn::Set(d, 2.16129140e-4f);
  p = hn::MulAdd(p, r, hn::Set(d, 1.24678469e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 9.67545151e-3f));
  p = hn::MulAdd(p, r, hn::Set(d, 5.54852807e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 2.40229306e-1f));
  p = hn::MulAdd(p, r, hn::Set(d, 6.93147044e-1f));
  return hn::MulAdd(p, r, hn::Set(d, 1.0f));
}
template <class D>
  requires(sizeof(hn::TFromD<D>) == 8)
HWY_INLINE hn::Vec<D> exp2_polynomial(D d, hn::Vec<D> r) {
  auto p = hn::Set(d, 6.2634659382160484646e-10);
  p = hn::MulAdd(p, r, hn::Set(d, 6.559529430955439855e-9));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0253212411065305839e-7));
  p = hn::MulAdd(p, r, hn::Set(d, 1.3208367292112183087e-6));
  p = hn::MulAdd(p, r, hn::Set(d, 1.5253175055312360599e-5));
  p = hn::MulAdd(p, r, hn::Set(d, 1.5403512309641343819e-4));
  p = hn::MulAdd(p, r, hn::Set(d, 1.3333558629566344695e-3));
  p = hn::MulAdd(p, r, hn::Set(d, 9.6181290995508038167e-3));
  p = hn::MulAdd(p, r, hn::Set(d, 5.5504108665602252335e-2));
  p = hn::MulAdd(p, r, hn::Set(d, 2.4022650695906330209e-1));
  p = hn::MulAdd(p, r, hn::Set(d, 6.9314718055994592842e-1));
  return hn::MulAdd(p, r, hn::Set(d, 1.0));
}

#if HWY_TARGET == HWY_AVX3
HWY_INLINE __m512 fraction(__m512 t) { return _mm512_reduce_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
HWY_INLINE __m512d fraction(__m512d t) { return _mm512_reduce_pd(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
HWY_INLINE __m512 scaled_by_exp2(__m512 p, __m512 t) { return _mm512_scalef_ps(p, t); }
HWY_INLINE __m512d scaled_by_exp2(__m512d p, __m512d t) { return _mm512_scalef_pd(p, t); }
#endif

// 2^t for t <= 0: exactly 1 at 0, exactly 0 at -inf, NaN for NaN. Relative error below 2 ulp; below 2^-126 (2^-1022)
// a target may flush to 0.
template <class D>
HWY_INLINE hn::Vec<D> exp2_nonpositive(D d, hn::Vec<D> t) {
#if HWY_TARGET == HWY_AVX3
  // vreduce gives t - floor(t) (0 for -inf) and vscalef multiplies by 2^floor(t): no clamp, no integer arithmetic.
  return hn::Vec<D>{scaled_by_exp2(exp2_polynomial(d, hn::Vec<D>{fraction(t.raw)}).raw, t.raw)};
#else
  using T = hn::TFromD<D>;
  constexpr bool kSingle = sizeof(T) == 4;
  constexpr int kMantissa = kSingle ? 23 : 52;
  constexpr T kBias = kSingle ? T{127} : T{1023};
  constexpr T kMagic = kSingle ? static_cast<T>(1 << 23) : static_cast<T>(1LL << 52);  // its ulp is 1
  // A compare and a select, since Max loses a NaN on some targets. At -bias the exponent field is 0: exactly 0.
  const auto low = hn::Set(d, -kBias);
  const auto clamped = hn::IfThenElse(hn::Lt(t, low), low, t);
  const auto floor = hn::Floor(clamped);
  const hn::RebindToUnsigned<D> du;
  const auto exponent = hn::BitCast(du, hn::Add(floor, hn::Set(d, kMagic + kBias)));
  const auto power = hn::BitCast(d, hn::ShiftLeft<kMantissa>(exponent));
  return hn::Mul(exp2_polynomial(d, hn::Sub(clamped, floor)), power);
#endif
}

// tanh, for softcap. f32: relative error below 4 ulp; f64 by the standard library, lane by lane.
template <class D>
  requires(sizeof(hn::TFromD<D>) == 4)
HWY_INLINE hn::Vec<D> tanh_lanes(D d, hn::Vec<D> x) {
  const auto magnitude = hn::Abs(x);
  // Small arguments: x + x z P(z) with z = x^2 <= 0.4, relative error 5e-9 (scripts/fit_polynomials.py).
  const auto z = hn::Mul(x, x);
  auto p = hn::Set(d, -5.64830637e-3f);
  p = hn::MulAdd(p, z, hn::Set(d, 2.05898164e-2f));
  p = hn::MulAdd(p, z, hn::Set(d, -5.37251231e-2f));
  p = hn::MulAdd(p, z, hn::Set(d, 1.33312744e-1f));
  p = hn::MulAdd(p, z, hn::Set(d, -3.33332761e-1f));
  const auto small = hn::MulAdd(hn::Mul(x, z), p, x);
  // Otherwise 1 - 2e / (1 + e) with e = exp(-2|x|): no cancellation, since e < 0.29 there.
  const auto e = exp2_nonpositive(d, hn::Mul(magnitude, hn::Set(d, -2.885390082f)));  // -2 log2(e)
  const auto one = hn::Set(d, 1.0f);
  const auto large = hn::Sub(one, hn::Div(hn::Add(e, e), hn::Add(one, e)));
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), small, hn::CopySign(large, x));
}
template <class D>
  requires(sizeof(hn::TFromD<D>) == 8)
HWY_INLINE hn::Vec<D> tanh_lanes(D d, hn::Vec<D> x) {
  HWY_ALIGN double lanes[hn::MaxLanes(d)];
  hn::Store(x, d, lanes);
  for (double& lane : lanes) lane = std::tanh(lane);
  return hn::Load(d, lanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
