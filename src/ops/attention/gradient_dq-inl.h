// dq of a block on its way from panel to panel: each adds to what those before it have left.

#if defined(QKV_SRC_OPS_ATTENTION_GRADIENT_DQ_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_GRADIENT_DQ_INL_H_
#undef QKV_SRC_OPS_ATTENTION_GRADIENT_DQ_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_GRADIENT_DQ_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "qkv/tensor.h"
#include "src/ops/attention/backward.h"
#include "src/ops/attention/gradient_block-inl.h"
#include "src/ops/attention/turns.h"
#include "src/ops/dot/store-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The result of one row, scaled. A scale that the type cannot hold waits for the product in double.
template <class C>
HWY_INLINE void scale_in_place(C* HWY_RESTRICT row, std::int64_t width, double scale) {
  const auto by = static_cast<C>(scale);
  if (by == C{0} ? scale == 0 : std::fabs(by) >= std::numeric_limits<C>::min() && std::isfinite(by)) {
    for (std::int64_t c = 0; c < width; ++c) row[c] *= by;
  } else {
    for (std::int64_t c = 0; c < width; ++c) row[c] = static_cast<C>(static_cast<double>(row[c]) * scale);
  }
}

// row += what `from` holds.
template <class C>
HWY_INLINE void add_row(const C* HWY_RESTRICT from, std::int64_t stride, std::int64_t width, C* HWY_RESTRICT row) {
  if (stride == 1) {
    for (std::int64_t c = 0; c < width; ++c) row[c] = from[c] + row[c];
  } else {
    for (std::int64_t c = 0; c < width; ++c) row[c] = from[c * stride] + row[c];
  }
}

// A partial sum in 32 bits: the upper half in dq's own memory, the lower one, its rest, in scratch.
template <class T>
HWY_INLINE void keep_row(const float* HWY_RESTRICT row, std::int64_t width, T* HWY_RESTRICT to, std::int64_t stride,
                         std::uint16_t* HWY_RESTRICT rests) {
  for (std::int64_t c = 0; c < width; ++c) {
    std::uint32_t bits;
    std::memcpy(&bits, row + c, sizeof(bits));
    to[c * stride].bits = static_cast<std::uint16_t>(bits >> 16);
    rests[c] = static_cast<std::uint16_t>(bits);
  }
}
template <class T>
HWY_INLINE void add_kept_row(const T* HWY_RESTRICT from, std::int64_t stride, const std::uint16_t* HWY_RESTRICT rests,
                             std::int64_t width, float* HWY_RESTRICT row) {
  for (std::int64_t c = 0; c < width; ++c) {
    const std::uint32_t bits = std::uint32_t{from[c * stride].bits} << 16 | rests[c];
    float sum;
    std::memcpy(&sum, &bits, sizeof(sum));
    row[c] = sum + row[c];
  }
}

// The same for a dq of 16-bit T. Constraint: `rests` are the row's.
template <class T>
HWY_INLINE void hand_over_halves(const View<void>& dq, std::int64_t at, std::uint16_t* rests, bool has_sum,
                                 bool is_last, float* row) {
  const std::int64_t width = dq.shape[3], stride = dq.strides[3];
  T* own = static_cast<T*>(dq.data) + at;
  if (has_sum && stride == 1) add_kept_row(own, 1, rests, width, row);
  if (has_sum && stride != 1) add_kept_row(own, stride, rests, width, row);
  if (is_last) return store_row(row, static_cast<std::size_t>(width), dq, at, stride);
  if (stride == 1) return keep_row(row, width, own, 1, rests);
  keep_row(row, width, own, stride, rests);
}

// One row of a block's dq. has_sum: panels before this one have left theirs.
template <class C>
HWY_NOINLINE void hand_over_row(const BackwardCall& call, const QueryBlock& block, std::int64_t query, bool has_sum,
                                bool is_last, C* row) {
  const View<void>& dq = call.outputs.dq;
  const std::int64_t at = block.batch * dq.strides[0] + block.head * dq.strides[1] + query * dq.strides[2];
  if constexpr (std::is_same_v<C, float>)
    if (call.rests.of_dq != nullptr) {
      std::uint16_t* rests = rests_of_row(call, block, query);
      if (dq.dtype == DType::kBF16) return hand_over_halves<bf16>(dq, at, rests, has_sum, is_last, row);
      return hand_over_halves<f16>(dq, at, rests, has_sum, is_last, row);
    }
  if (has_sum) add_row(static_cast<const C*>(dq.data) + at, dq.strides[3], dq.shape[3], row);
  store_row(row, static_cast<std::size_t>(dq.shape[3]), dq, at, dq.strides[3]);
}

// Adds the block's dq to that of the panels before this one, once it is this panel's turn.
template <class C>
HWY_NOINLINE void hand_over_dq(const BackwardCall& call, const GradientBlock<C>& block, std::int64_t index,
                               std::int64_t turn, bool is_last, bool in_place) {
  const AttentionShape& shape = call.forward.shape;
  const QueryBlock& queries = block.tiles[0].block;
  const std::int64_t head = queries.batch * shape.query_heads + queries.head;
  std::int32_t* turns = call.turns + head * call.cuts.blocks + index;
  for (std::int64_t i = 0; i < block.queries; ++i)
    scale_in_place(block.dq.data + i * block.dq.stride, shape.width, call.forward.scale);
  if (!in_place) wait_for_turn(turns, turn);
  for (std::int64_t i = 0; i < block.queries && !in_place; ++i)
    hand_over_row(call, queries, queries.begin + i, turn > 0, is_last, block.dq.data + i * block.dq.stride);
  end_turn(turns, turn);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
