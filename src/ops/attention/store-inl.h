// Finished rows, rounded to the type of the tensor that takes them.

#if defined(QKV_SRC_OPS_ATTENTION_STORE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_STORE_INL_H_
#undef QKV_SRC_OPS_ATTENTION_STORE_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_STORE_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "qkv/tensor.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One finished row of a result, rounded to its type. Shape: row [the view's last extent]; `offset` in elements.
template <class C, class T, class Round>
HWY_INLINE void store_as(const C* HWY_RESTRICT row, std::int64_t width, T* HWY_RESTRICT to, std::int64_t stride,
                         const Round& round) {
  if (stride == 1) {
    for (std::int64_t c = 0; c < width; ++c) to[c] = round(row[c]);
  } else {
    for (std::int64_t c = 0; c < width; ++c) to[c * stride] = round(row[c]);
  }
}
// The 16-bit types without a gap, in a form that compilers turn into vectors: as to_bf16() and to_f16(), bit for bit.
HWY_INLINE void store_contiguous(const float* HWY_RESTRICT row, std::int64_t width, bf16* HWY_RESTRICT to) {
  for (std::int64_t c = 0; c < width; ++c) {
    std::uint32_t bits;
    std::memcpy(&bits, row + c, sizeof(bits));
    const std::uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    const std::uint32_t quiet = (bits >> 16) | 0x40;
    to[c].bits = static_cast<std::uint16_t>((bits & 0x7FFFFFFF) > 0x7F800000 ? quiet : rounded);
  }
}
HWY_INLINE void store_contiguous(const float* HWY_RESTRICT row, std::int64_t width, f16* HWY_RESTRICT to) {
  std::int64_t c = 0;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, hn::ScalableTag<float>> half;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (; c + lanes <= width; c += lanes)
    hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, row + c)), half, reinterpret_cast<hwy::float16_t*>(to + c));
#endif
  for (; c < width; ++c) to[c] = to_f16(row[c]);
}

template <class C>
HWY_INLINE void store_row(const C* HWY_RESTRICT row, const View<void>& to, std::int64_t offset) {
  const std::int64_t width = to.shape[3];
  const std::int64_t stride = to.strides[3];
  if constexpr (std::is_same_v<C, double>) {
    store_as(row, width, static_cast<double*>(to.data) + offset, stride, [](double x) { return x; });
  } else {
    switch (to.dtype) {
      case DType::kBF16:
        if (stride == 1) return store_contiguous(row, width, static_cast<bf16*>(to.data) + offset);
        return store_as(row, width, static_cast<bf16*>(to.data) + offset, stride, [](float x) { return to_bf16(x); });
      case DType::kF16:
        if (stride == 1) return store_contiguous(row, width, static_cast<f16*>(to.data) + offset);
        return store_as(row, width, static_cast<f16*>(to.data) + offset, stride, [](float x) { return to_f16(x); });
      default: return store_as(row, width, static_cast<float*>(to.data) + offset, stride, [](float x) { return x; });
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
