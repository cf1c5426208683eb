// Rows of the compute type rounded to any element type: the way back of load_row().

#if defined(QKV_SRC_OPS_DOT_STORE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_DOT_STORE_INL_H_
#undef QKV_SRC_OPS_DOT_STORE_INL_H_
#else
#define QKV_SRC_OPS_DOT_STORE_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "qkv/tensor.h"
#include "src/ops/dot/dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// To nearest even, contiguous; as to_bf16() and to_f16(), in a form that compilers turn into vectors.
HWY_INLINE void narrow(const float* HWY_RESTRICT from, std::size_t count, bf16* HWY_RESTRICT to) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, from + i, sizeof(bits));
    const std::uint32_t nearest_even = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
    const std::uint32_t quiet_nan = (bits >> 16) | 0x40u;
    to[i].bits = static_cast<std::uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? quiet_nan : nearest_even);
  }
}
HWY_INLINE void narrow(const float* HWY_RESTRICT from, std::size_t count, f16* HWY_RESTRICT to) {
  std::size_t i = 0;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
  const Tag<float> d;
  const hn::Rebind<hwy::float16_t, Tag<float>> half;
  auto* target = reinterpret_cast<hwy::float16_t*>(to);
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d))
    hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, from + i)), half, target + i);
#endif
  for (; i < count; ++i) to[i] = to_f16(from[i]);
}
HWY_INLINE void narrow(const float* HWY_RESTRICT from, std::size_t count, float* HWY_RESTRICT to) {
  std::memcpy(to, from, count * sizeof(float));
}
HWY_INLINE void narrow(const double* HWY_RESTRICT from, std::size_t count, double* HWY_RESTRICT to) {
  std::memcpy(to, from, count * sizeof(double));
}

template <class C, class T>
HWY_INLINE void narrow_strided(const C* HWY_RESTRICT from, std::size_t count, T* HWY_RESTRICT to, std::int64_t stride) {
  if (stride == 1) return narrow(from, count, to);
  for (std::size_t i = 0; i < count; ++i) narrow(from + i, 1, to + static_cast<std::int64_t>(i) * stride);
}

// `count` numbers as elements of the view, from `offset` on and `stride` apart. Constraint: C = double for f64, else
// float.
template <class C>
HWY_INLINE void store_row(const C* HWY_RESTRICT from, std::size_t count, const View<void>& view, std::int64_t offset,
                          std::int64_t stride) {
  if constexpr (std::is_same_v<C, double>) {
    narrow_strided(from, count, static_cast<double*>(view.data) + offset, stride);
  } else {
    switch (view.dtype) {
      case DType::kBF16: return narrow_strided(from, count, static_cast<bf16*>(view.data) + offset, stride);
      case DType::kF16: return narrow_strided(from, count, static_cast<f16*>(view.data) + offset, stride);
      default: return narrow_strided(from, count, static_cast<float*>(view.data) + offset, stride);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
