// The forward pass of one block of queries, queries in lanes: pack qᵀ, then for each run of keys scores → softmax →
// accumulate.

#if defined(QKV_SRC_OPS_ATTENTION_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_BLOCK_INL_H_
#undef QKV_SRC_OPS_ATTENTION_BLOCK_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_BLOCK_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "src/ops/attention/forward.h"
#include "src/ops/attention/tile_terms.h"
#include "src/ops/dot/dot-inl.h"
#include "src/ops/softmax/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Keys a step. The tile of scores (64 × 48 floats, 12 kB) stays in the L1 cache between its three passes.
inline constexpr std::int64_t kKeysPerStep = 64;

// The arrays of one block, carved out of the caller's scratch. Each is a whole number of vectors long.
template <class C>
struct BlockScratch {
  C* qt;       // [D][W]           queries in lanes
  C* scores;   // [keys][W]
  C* allowed;  // [keys][W]        1 and 0
  C* bias;     // [keys][W]
  C* acc;      // [Dv][W]
  C* max;      // [W]
  C* sum;      // [W]
  C* keys;     // [keys][D]        converted keys, where they cannot be read in place
  C* values;   // [keys][Dv]
  C* row;      // [max(D, Dv)]     one query or one output, rounded up to whole vectors
  C* post;     // [2][W]           factors of each query's scores, see pack_queries_within_range

  BlockScratch(const AttentionShape& shape, void* memory) { size = carve(shape, static_cast<char*>(memory)); }
  std::size_t size = 0;  // bytes

 private:
  std::size_t carve(const AttentionShape& shape, char* memory) {
    constexpr std::size_t kWidth = tile_width<C>();
    constexpr auto kKeys = static_cast<std::size_t>(kKeysPerStep);
    const auto width = static_cast<std::size_t>(shape.width);
    const auto value_width = static_cast<std::size_t>(shape.value_width);
    std::size_t used = 0;
    const auto take = [&](std::size_t count) {
      C* at = memory == nullptr ? nullptr : reinterpret_cast<C*>(memory + used);
      used += (count * sizeof(C) + 63) / 64 * 64;
      return at;
    };
    qt = take(width * kWidth);
    scores = take(kKeys * kWidth);
    allowed = take(kKeys * kWidth);
    bias = take(kKeys * kWidth);
    acc = take(value_width * kWidth);
    max = take(kWidth);
    sum = take(kWidth);
    keys = take(kKeys * width);
    values = take(kKeys * value_width);
    row = take(hwy::RoundUpTo(std::max(width, value_width), hn::MaxLanes(Tag<C>())));
    post = take(2 * kWidth);
    return used;
  }
};

template <class C>
std::size_t block_scratch_bytes(const AttentionShape& shape) {
  return BlockScratch<C>(shape, nullptr).size;
}

// row[k] *= factor. Answers whether every product is as exact as row[k] was: not if one overflowed or sank into the
// subnormals. Constraint: row has room for a whole number of vectors, zero past `width`.
template <class C>
HWY_INLINE bool scale_row(C* HWY_RESTRICT row, std::size_t width, C factor) {
  const Tag<C> d;
  const auto largest = hn::Set(d, std::numeric_limits<C>::max());
  const auto smallest = hn::Set(d, sizeof(C) == 4 ? static_cast<C>(1e-30) : static_cast<C>(1e-290));
  auto lossy = hn::Lt(hn::Zero(d), hn::Zero(d));
  for (std::size_t k = 0; k < width; k += hn::Lanes(d)) {
    const auto value = hn::Load(d, row + k);
    const auto product = hn::Mul(value, hn::Set(d, factor));
    const auto size = hn::Abs(product);
    const auto overflowed = hn::AndNot(hn::Gt(hn::Abs(value), largest), hn::Gt(size, largest));
    const auto sank = hn::AndNot(hn::Eq(value, hn::Zero(d)), hn::Lt(size, smallest));
    lossy = hn::Or(lossy, hn::Or(overflowed, sank));
    hn::Store(product, d, row + k);
  }
  return hn::AllFalse(d, lossy) || factor == C{0};
}

// qᵀ of the block, each query through change(row, i) first; lanes past the last query are 0.
template <class C, class Change>
HWY_INLINE void transpose_queries(const ForwardCall& call, const QueryBlock& block, const BlockScratch<C>& scratch,
                                  Change change) {
  constexpr std::size_t kWidth = tile_width<C>();
  const View<const void>& q = call.inputs.q;
  const auto width = static_cast<std::size_t>(call.shape.width);
  std::fill_n(scratch.row, hwy::RoundUpTo(width, hn::MaxLanes(Tag<C>())), C{0});
  if (block.count < static_cast<std::int64_t>(kWidth)) std::fill_n(scratch.qt, width * kWidth, C{0});
  for (std::int64_t i = 0; i < block.count; ++i) {
    const std::int64_t offset =
        block.batch * q.strides[0] + block.head * q.strides[1] + (block.begin + i) * q.strides[2];
    load_row(q, offset, q.strides[3], width, scratch.row);
    change(scratch.row, i);
    C* HWY_RESTRICT lane = scratch.qt + i;
    for (std::size_t k = 0; k < width; ++k) lane[k * kWidth] = scratch.row[k];
  }
}

// qᵀ times `factor`. Answers whether no product lost bits (see scale_row).
template <class C>
HWY_INLINE bool pack_queries(const ForwardCall& call, const QueryBlock& block, double factor,
                             const BlockScratch<C>& scratch) {
  const auto by = static_cast<C>(factor);
  // A scale below the type's normal numbers has lost bits itself.
  bool exact = std::isfinite(by) && (std::fabs(by) >= std::numeric_limits<C>::min() || factor == 0);
  transpose_queries(call, block, scratch, [&](C* row, std::int64_t) HWY_ATTR {
    exact &= scale_row(row, static_cast<std::size_t>(call.shape.width), by);
  });
  return exact;
}

// For a scale that q cannot take in: every query is brought near 2^-11 by a power of two, so that no product with a key
// overflows, and the scale waits with that power in `post`, as two factors (their product may lie outside the type), to
// meet the query's scores.
template <class C>
HWY_NOINLINE void pack_queries_within_range(const ForwardCall& call, const QueryBlock& block,
                                            const BlockScratch<C>& scratch) {
  constexpr int kHeadroom = 11;  // bits: 2048 products of the largest numbers still add up to a finite one
  constexpr int kLargest = std::numeric_limits<C>::max_exponent - 2;
  constexpr std::size_t kWidth = tile_width<C>();
  const auto width = static_cast<std::size_t>(call.shape.width);
  int scale_exponent = 0;
  const double scale = std::frexp(call.scale, &scale_exponent);
  std::fill_n(scratch.post, 2 * kWidth, C{1});
  transpose_queries(call, block, scratch, [&](C* row, std::int64_t i) HWY_ATTR {
    C largest = 0;
    for (std::size_t k = 0; k < width; ++k)
      if (const C size = std::fabs(row[k]); size <= std::numeric_limits<C>::max()) largest = std::max(largest, size);
    int exponent = 0;
    std::frexp(largest, &exponent);
    exponent = std::clamp(exponent + kHeadroom, -kLargest, kLargest);
    scale_row(row, width, static_cast<C>(std::ldexp(1.0, -exponent)));
    const int both = scale_exponent + exponent;
    const int first = both / 2;
    scratch.post[i] = static_cast<C>(std::ldexp(scale, std::clamp(first, -kLargest, kLargest)));
    scratch.post[kWidth + static_cast<std::size_t>(i)] =
        static_cast<C>(std::ldexp(1.0, std::clamp(both - first, -kLargest, kLargest)));
  });
}

// Rows of a KV tensor as C: in place if they are C already, else converted into `buffer`.
template <class C>
struct Rows {
  const C* data;
  std::int64_t stride;
};
template <class C>
HWY_INLINE Rows<C> rows_of(View<const void> view, const QueryBlock& block, std::int64_t kv_head, const TileExtent& tile,
                           C* buffer) {
  const std::int64_t first = block.batch * view.strides[0] + kv_head * view.strides[1] + tile.key * view.strides[2];
  const std::int64_t width = view.shape[3];
  if (view.dtype == dtype_of<C>() && (view.strides[3] == 1 || width == 1))
    return {static_cast<const C*>(view.data) + first, view.strides[2]};
  for (std::int64_t j = 0; j < tile.count; ++j)
    load_row(view, first + j * view.strides[2], view.strides[3], static_cast<std::size_t>(width), buffer + j * width);
  return {buffer, width};
}

// What is left of the scale, softcap, bias and slopes, in this order, on scores in natural units.
template <class C>
HWY_INLINE void apply_terms(const ForwardCall& call, const QueryBlock& block, const TileExtent& tile, bool has_post,
                            const BlockScratch<C>& scratch) {
  const Tag<C> d;
  constexpr std::size_t kLanes = hn::MaxLanes(Tag<C>());
  const AttentionOptions& options = call.options;
  const auto cap = static_cast<C>(options.softcap.value_or(1));
  const bool sloped = !options.slopes.empty();
  const auto slope = hn::Set(d, sloped ? static_cast<C>(options.slopes[static_cast<std::size_t>(block.head)]) : C{0});
  HWY_ALIGN C position[kMaxTileWidth];  // of each query, counted from the tile's first key
  for (std::size_t i = 0; i < tile_width<C>(); ++i)
    position[i] =
        static_cast<C>(Positions::position(*block.sequence, block.begin + static_cast<std::int64_t>(i)) - tile.key);
  for (std::int64_t j = 0; j < tile.count; ++j) {
    const std::size_t row = static_cast<std::size_t>(j) * tile_width<C>();
    for (std::size_t lane = 0; lane < tile_width<C>(); lane += kLanes) {
      auto s = hn::Load(d, scratch.scores + row + lane);
      if (has_post)
        s = hn::Mul(hn::Mul(s, hn::Load(d, scratch.post + lane)), hn::Load(d, scratch.post + tile_width<C>() + lane));
      if (options.softcap) s = hn::Mul(hn::Set(d, cap), tanh_lanes(d, hn::Div(s, hn::Set(d, cap))));
      if (call.bias.is_present()) s = hn::Add(s, hn::Load(d, scratch.bias + row + lane));
      if (sloped) {
        const auto distance = hn::Abs(hn::Sub(hn::Load(d, position + lane), hn::Set(d, static_cast<C>(j))));
        s = hn::NegMulAdd(slope, distance, s);
      }
      hn::Store(s, d, scratch.scores + row + lane);
    }
  }
}

template <class C>
HWY_INLINE bool all_finite(const Rows<C>& rows, std::int64_t count, std::int64_t width) {
  bool finite = true;
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t c = 0; c < width; ++c)
      finite &= std::fabs(rows.data[j * rows.stride + c]) <= std::numeric_limits<C>::max();
  return finite;
}

// acc += weights · values where a hidden value is not even multiplied by 0: 0 · NaN would be NaN.
template <class C>
void accumulate_selected(const Rows<C>& values, std::int64_t count, const BlockScratch<C>& scratch,
                         std::int64_t value_width) {
  const Tag<C> d;
  constexpr std::size_t kWidth = tile_width<C>();
  for (std::int64_t c = 0; c < value_width; ++c)
    for (std::size_t lane = 0; lane < kWidth; lane += hn::MaxLanes(Tag<C>())) {
      C* at = scratch.acc + static_cast<std::size_t>(c) * kWidth + lane;
      auto sum = hn::Load(d, at);
      for (std::int64_t j = 0; j < count; ++j) {
        const std::size_t row = static_cast<std::size_t>(j) * kWidth + lane;
        const auto seen = hn::Ne(hn::Load(d, scratch.allowed + row), hn::Zero(d));
        const auto value = hn::Set(d, values.data[j * values.stride + c]);
        sum = hn::IfThenElse(seen, hn::MulAdd(hn::Load(d, scratch.scores + row), value, sum), sum);
      }
      hn::Store(sum, d, at);
    }
}

// One step: scores of a tile, their terms, their weights, and the weighted values added to the state.
template <ScoreUnit kUnit, class C>
HWY_INLINE void step(const ForwardCall& call, const QueryBlock& block, const TileExtent& tile, Visibility visibility,
                     bool has_terms, bool has_post, const BlockScratch<C>& scratch, const SoftmaxState<C>& state) {
  const std::int64_t kv_head = block.head / call.shape.group();
  const Rows<C> keys = rows_of(call.inputs.k, block, kv_head, tile, scratch.keys);
  for_each_tile(tile.count, [&](auto rows, std::int64_t first) HWY_ATTR {
    dot_tile<decltype(rows)::value>(keys.data + first * keys.stride, keys.stride, scratch.qt, call.shape.width,
                                    scratch.scores + static_cast<std::size_t>(first) * tile_width<C>());
  });
  if (has_terms) apply_terms(call, block, tile, has_post, scratch);
  const Rows<C> values = rows_of(call.inputs.v, block, kv_head, tile, scratch.values);
  if (visibility == Visibility::kSome) {
    weigh<kUnit, true>(state, scratch.scores, scratch.allowed, tile.count);
    if (!all_finite(values, tile.count, call.shape.value_width))
      return accumulate_selected(values, tile.count, scratch, call.shape.value_width);
  } else {
    weigh<kUnit, false>(state, scratch.scores, scratch.allowed, tile.count);
  }
  for_each_tile(call.shape.value_width, [&](auto rows, std::int64_t first) HWY_ATTR {
    accumulate_tile<decltype(rows)::value>(values.data + first, values.stride, scratch.scores, tile.count,
                                           scratch.acc + static_cast<std::size_t>(first) * tile_width<C>());
  });
}

// One finished output row, rounded to the type of o.
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
HWY_INLINE void store_row(const C* HWY_RESTRICT row, const View<void>& o, std::int64_t offset) {
  const std::int64_t width = o.shape[3];
  const std::int64_t stride = o.strides[3];
  if constexpr (std::is_same_v<C, double>) {
    store_as(row, width, static_cast<double*>(o.data) + offset, stride, [](double x) { return x; });
  } else {
    switch (o.dtype) {
      case DType::kBF16:
        return store_as(row, width, static_cast<bf16*>(o.data) + offset, stride, [](float x) { return to_bf16(x); });
      case DType::kF16:
        return store_as(row, width, static_cast<f16*>(o.data) + offset, stride, [](float x) { return to_f16(x); });
      default: return store_as(row, width, static_cast<float*>(o.data) + offset, stride, [](float x) { return x; });
    }
  }
}

// o = acc / sum and lse = max + ln(sum); an empty row (sum 0) is o = 0, lse = -inf.
template <class C>
HWY_INLINE void finish(const ForwardCall& call, const QueryBlock& block, ScoreUnit unit,
                       const BlockScratch<C>& scratch) {
  const View<void>& o = call.outputs.o;
  const View<void>& lse = call.outputs.lse;
  constexpr double kLn2 = 0.69314718055994530942;
  for (std::int64_t i = 0; i < block.count; ++i) {
    const C sum = scratch.sum[i];
    const std::int64_t query = block.begin + i;
    const C share = sum == C{0} ? C{0} : C{1} / sum;
    for (std::int64_t c = 0; c < call.shape.value_width; ++c)
      scratch.row[c] = scratch.acc[static_cast<std::size_t>(c) * tile_width<C>() + static_cast<std::size_t>(i)] * share;
    store_row(scratch.row, o, block.batch * o.strides[0] + block.head * o.strides[1] + query * o.strides[2]);
    if (!lse.is_present()) continue;
    const double max = static_cast<double>(scratch.max[i]) * (unit == ScoreUnit::kLog2 ? kLn2 : 1.0);
    const double value =
        sum == C{0} ? -std::numeric_limits<double>::infinity() : max + std::log(static_cast<double>(sum));
    const std::int64_t at = block.batch * lse.strides[0] + block.head * lse.strides[1] + query * lse.strides[2];
    if (lse.dtype == DType::kF64)
      static_cast<double*>(lse.data)[at] = value;
    else
      static_cast<float*>(lse.data)[at] = static_cast<float>(value);
  }
}

template <ScoreUnit kUnit, class C>
HWY_INLINE void run_steps(const ForwardCall& call, const QueryBlock& block, bool has_terms, bool has_post,
                          const BlockScratch<C>& scratch) {
  constexpr double kPerUnit = kUnit == ScoreUnit::kLog2 ? 1.4426950408889634 : 1.0;
  const SoftmaxState<C> state{scratch.max, scratch.sum, scratch.acc, call.shape.value_width};
  const std::span<const double> sinks = call.options.sinks;
  reset(state, sinks.empty() ? -std::numeric_limits<C>::infinity()
                             : static_cast<C>(sinks[static_cast<std::size_t>(block.head)] * kPerUnit));
  const BlockRanges ranges(call.positions, block, static_cast<std::int64_t>(tile_width<C>()));
  TileExtent tile{ranges.all.begin, 0, static_cast<std::int64_t>(tile_width<C>())};
  for (; tile.key < ranges.all.end; tile.key += tile.count) {
    tile.count = std::min(kKeysPerStep, ranges.all.end - tile.key);
    const Visibility visibility = tile_terms(call, block, ranges, tile, scratch.allowed, scratch.bias);
    if (visibility == Visibility::kNone) continue;
    step<kUnit>(call, block, tile, visibility, has_terms, has_post, scratch, state);
  }
  finish(call, block, kUnit, scratch);
}

// Entry of a task. Scores come in units of 1/log2(e) where nothing but the scale touches them (one multiplication a
// score less); else, and where folding the scale into q would lose bits, in natural units.
template <class C>
void run_block(const ForwardCall& call, const QueryBlock& block, void* memory) {
  constexpr double kLog2e = 1.4426950408889634;
  const BlockScratch<C> scratch(call.shape, memory);
  const AttentionOptions& options = call.options;
  const bool has_terms = options.softcap || call.bias.is_present() || !options.slopes.empty();
  if (!has_terms && options.sinks.empty() && pack_queries(call, block, call.scale * kLog2e, scratch))
    return run_steps<ScoreUnit::kLog2>(call, block, false, false, scratch);
  const bool has_post = !pack_queries(call, block, call.scale, scratch);
  if (has_post) pack_queries_within_range(call, block, scratch);
  run_steps<ScoreUnit::kNatural>(call, block, has_terms || has_post, has_post, scratch);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
