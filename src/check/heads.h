// Heads side by side in a row, and apart.
#ifndef QKV_SRC_CHECK_HEADS_H_
#define QKV_SRC_CHECK_HEADS_H_

#include <cstdint>

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv::check {

// [B,T,H·D] split into heads [B,H,T,D] by strides.
inline View<const void> split(const Tensor& merged, std::int64_t heads) {
  const Dims& shape = merged.shape();
  const Dims by_token{shape[0], shape[1], heads, heads == 0 ? 0 : shape[2] / heads};
  return swap_axes(View<const void>(merged.data<void>(), merged.dtype(), by_token), 1, 2);
}

// [B,H,T,D] copied to [B,T,H·D].
inline Result<Tensor> merge(const Tensor& heads) {
  Result<Tensor> copied = converted(swap_axes(heads.view(), 1, 2), heads.dtype());
  if (!copied.is_ok()) return copied;
  const Dims& shape = copied->shape();
  const Dims merged{shape[0], shape[1], shape[2] * shape[3]};
  return converted(View<const void>(copied->data<void>(), heads.dtype(), merged), heads.dtype());
}

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_HEADS_H_
