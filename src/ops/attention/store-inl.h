// Finished rows, rounded to the type of the tensor that takes them.

#if defined(QKV_SRC_OPS_ATTENTION_STORE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_STORE_INL_H_
#undef QKV_SRC_OPS_ATTENTION_STORE_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_STORE_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "qkv/tensor.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {

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
template <class C>
HWY_INLINE void store_row(const C* HWY_RESTRICT row, const View<void>& to, std::int64_t offset) {
  const std::int64_t width = to.shape[3];
  const std::int64_t stride = to.strides[3];
  if constexpr (std::is_same_v<C, double>) {
    store_as(row, width, static_cast<double*>(to.data) + offset, stride, [](double x) { return x; });
  } else {
    switch (to.dtype) {
      case DType::kBF16:
        return store_as(row, width, static_cast<bf16*>(to.data) + offset, stride, [](float x) { return to_bf16(x); });
      case DType::kF16:
        return store_as(row, width, static_cast<f16*>(to.data) + offset, stride, [](float x) { return to_f16(x); });
      default: return store_as(row, width, static_cast<float*>(to.data) + offset, stride, [](float x) { return x; });
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
