// What a step adds up: dv += pᵀ do, dk += dsᵀ q, dq += ds k.

#if defined(QKV_SRC_OPS_ATTENTION_GRADIENT_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_GRADIENT_SUMS_INL_H_
#undef QKV_SRC_OPS_ATTENTION_GRADIENT_SUMS_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_GRADIENT_SUMS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "src/ops/attention/gradient_block-inl.h"
#include "src/ops/attention/gradient_scores-inl.h"
#include "src/ops/attention/gradient_scratch-inl.h"
#include "src/ops/dot/outer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Where a tile is not seen whole, rows are cut into chunks of so many, each as deep as its own rows see: two register
// tiles of 6 rows, one and a half of 8.
inline constexpr std::int64_t kChunk = 12;

// c[r][·] += Σ_i a(r, i) · b[i][·] over the pairs that count, one by one: what is hidden is not even multiplied by 0,
// which would make NaN of a NaN. The same bits as outer_product() where everything is finite.
template <class C>
HWY_NOINLINE void selected_product(Broadcasts<C> a, Broadcasts<C> allowed, std::int64_t rows, const C* b,
                                   std::int64_t b_stride, std::int64_t depth, C* c, std::int64_t c_stride,
                                   std::int64_t width) {
  const Tag<C> d;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < depth; ++i) {
      if (allowed.data[r * allowed.row_stride + i * allowed.step] == C{0}) continue;
      const auto factor = hn::Set(d, a.data[r * a.row_stride + i * a.step]);
      for (std::int64_t x = 0; x < width; x += static_cast<std::int64_t>(hn::Lanes(d))) {
        C* at = c + r * c_stride + x;
        hn::Store(hn::MulAdd(hn::LoadU(d, b + i * b_stride + x), factor, hn::Load(d, at)), d, at);
      }
    }
}

// What a step adds up: rows of the block and of its keys, and the rows of dk and dv that belong to these.
template <class C>
struct StepSums {
  std::int64_t count;  // keys
  Rows<C> q, d_o, keys;
  SumRows<C> dq, dk, dv;
};

// dv += pᵀ do and dk += dsᵀ q for keys [begin, end) of a step and queries [first, last) of a block.
template <class C>
HWY_INLINE void add_to_keys(const GradientScratch<C>& scratch, const StepSums<C>& sums, std::int64_t begin,
                            std::int64_t end, std::int64_t first, std::int64_t last) {
  if (begin >= end || first >= last) return;
  constexpr std::int64_t kStride = block_width<C>();
  const std::int64_t at = begin * kStride + first;
  if (sums.dv.data != nullptr)
    outer_product<false>(Broadcasts<C>{scratch.p + at, kStride, 1}, end - begin,
                         sums.d_o.data + first * sums.d_o.stride, sums.d_o.stride, last - first,
                         sums.dv.data + begin * sums.dv.stride, sums.dv.stride, scratch.value_stride);
  if (sums.dk.data != nullptr)
    outer_product<false>(Broadcasts<C>{scratch.ds + at, kStride, 1}, end - begin, sums.q.data + first * sums.q.stride,
                         sums.q.stride, last - first, sums.dk.data + begin * sums.dk.stride, sums.dk.stride,
                         scratch.row_stride);
}

// dq += ds k for queries [first, last) of a block and keys [begin, end) of a step.
template <class C>
HWY_INLINE void add_to_queries(const GradientScratch<C>& scratch, const StepSums<C>& sums, std::int64_t begin,
                               std::int64_t end, std::int64_t first, std::int64_t last) {
  if (begin >= end || first >= last) return;
  constexpr std::int64_t kStride = block_width<C>();
  outer_product<false>(Broadcasts<C>{scratch.ds + begin * kStride + first, 1, kStride}, last - first,
                       sums.keys.data + begin * sums.keys.stride, sums.keys.stride, end - begin,
                       sums.dq.data + first * sums.dq.stride, sums.dq.stride, scratch.row_stride);
}

// The lanes [first, last) of a tile that see any of keys [begin, end), by position. Constraint: the tile has a query.
template <class C>
HWY_INLINE void seeing_lanes(const QueryTile<C>& tile, std::int64_t begin, std::int64_t end, std::int64_t& first,
                             std::int64_t& last) {
  first = 0;
  while (first < tile.block.count && tile.ranges.end[first] <= begin) ++first;
  last = tile.block.count;
  while (last > first && tile.ranges.begin[last - 1] >= end) --last;
}

// All three sums of a step whose tiles are not seen whole, chunk by chunk.
template <class C>
HWY_NOINLINE void add_chunks(const GradientScratch<C>& scratch, const GradientBlock<C>& block,
                             const StepSight<C>* steps, std::int64_t key, const StepSums<C>& sums) {
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  for (std::int64_t begin = 0; begin < sums.count; begin += kChunk) {
    const std::int64_t end = std::min(begin + kChunk, sums.count);
    std::int64_t first = block.queries, last = 0;
    for (int t = 0; t < block.count; ++t) {
      if (steps[t].is_empty() || steps[t].begin >= end || steps[t].end <= begin) continue;
      std::int64_t from = 0, to = 0;
      seeing_lanes(block.tiles[t], key + begin, key + end, from, to);
      if (from >= to) continue;
      first = std::min(first, t * kWidth + from);
      last = std::max(last, t * kWidth + to);
    }
    add_to_keys(scratch, sums, begin, end, first, last);
  }
  for (int t = 0; t < block.count && sums.dq.data != nullptr; ++t) {
    const QueryTile<C>& tile = block.tiles[t];
    if (steps[t].is_empty()) continue;
    for (std::int64_t first = 0; first < tile.block.count; first += kChunk) {
      const std::int64_t last = std::min(first + kChunk, tile.block.count);
      const std::int64_t begin = std::clamp(tile.ranges.begin[first] - key, steps[t].begin, steps[t].end);
      const std::int64_t end = std::clamp(tile.ranges.end[last - 1] - key, steps[t].begin, steps[t].end);
      add_to_queries(scratch, sums, begin, end, t * kWidth + first, t * kWidth + last);
    }
  }
}

// The same where something is not finite.
template <class C>
HWY_NOINLINE void add_selected(const GradientScratch<C>& scratch, const GradientBlock<C>& block,
                               const StepSight<C>* steps, const StepSums<C>& sums) {
  constexpr auto kWidth = static_cast<std::int64_t>(tile_width<C>());
  constexpr std::int64_t kStride = block_width<C>();
  for (int t = 0; t < block.count; ++t) {
    if (steps[t].is_empty()) continue;
    const std::int64_t begin = steps[t].begin, rows = steps[t].end - begin, queries = block.tiles[t].block.count;
    const std::int64_t at = begin * kStride + t * kWidth;
    const C* allowed = scratch.allowed[t] + begin * kWidth;
    if (sums.dv.data != nullptr)
      selected_product(Broadcasts<C>{scratch.p + at, kStride, 1}, Broadcasts<C>{allowed, kWidth, 1}, rows,
                       sums.d_o.data + t * kWidth * sums.d_o.stride, sums.d_o.stride, queries,
                       sums.dv.data + begin * sums.dv.stride, sums.dv.stride, scratch.value_stride);
    if (sums.dk.data != nullptr)
      selected_product(Broadcasts<C>{scratch.ds + at, kStride, 1}, Broadcasts<C>{allowed, kWidth, 1}, rows,
                       sums.q.data + t * kWidth * sums.q.stride, sums.q.stride, queries,
                       sums.dk.data + begin * sums.dk.stride, sums.dk.stride, scratch.row_stride);
    if (sums.dq.data != nullptr)
      // The transposed product: queries are its rows. NOLINTNEXTLINE(readability-suspicious-call-argument)
      selected_product(Broadcasts<C>{scratch.ds + at, 1, kStride}, Broadcasts<C>{allowed, 1, kWidth}, queries,
                       sums.keys.data + begin * sums.keys.stride, sums.keys.stride, rows,
                       sums.dq.data + t * kWidth * sums.dq.stride, sums.dq.stride, scratch.row_stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
