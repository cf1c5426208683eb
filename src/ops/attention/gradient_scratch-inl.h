// The memory of a task of the backward pass, and one tile of queries in it.

#if defined(QKV_SRC_OPS_ATTENTION_GRADIENT_SCRATCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_GRADIENT_SCRATCH_INL_H_
#undef QKV_SRC_OPS_ATTENTION_GRADIENT_SCRATCH_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_GRADIENT_SCRATCH_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "src/ops/attention/ahead-inl.h"
#include "src/ops/attention/backward.h"
#include "src/ops/attention/queries-inl.h"
#include "src/ops/attention/scratch-inl.h"
#include "src/ops/attention/tile_terms.h"
#include "src/ops/dot/transpose-inl.h"
#include "src/ops/softmax/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A block is two tiles of queries: dk and dv are loaded and stored once for both.
inline constexpr std::int64_t kTilesPerBlock = 2;
template <class C>
constexpr std::int64_t block_width() {
  return kTilesPerBlock * static_cast<std::int64_t>(tile_width<C>());
}

// Keys a step: dq is loaded and stored once for so many, and p and ds (2 x 96 x 96 floats, 72 kB) stay in the L2 cache.
inline constexpr std::int64_t kGradientKeys = 96;

// Rows as C with whole vectors of columns, zero behind the width: in place where they are so, else copied.
template <class C>
bool vectors_in_place(const View<const void>& view) {
  return readable_in_place<C>(view) && view.shape[3] % static_cast<std::int64_t>(hn::MaxLanes(Tag<C>())) == 0;
}

// Rows that something is added to.
template <class C>
struct SumRows {
  C* data = nullptr;  // null where nobody asks for them
  std::int64_t stride = 0;

  SumRows from(std::int64_t row) const { return {data == nullptr ? data : data + row * stride, stride}; }
};

// Whether the rows of a view hold whole vectors of C on whole lines of memory: as fast as a copy of them would be.
template <class C>
bool lines_in_place(const View<const void>& view) {
  constexpr std::int64_t kLine = 64;
  bool aligned = reinterpret_cast<std::uintptr_t>(view.data) % kLine == 0;
  for (int axis = 0; axis < 3; ++axis)
    aligned &= view.shape[axis] <= 1 || view.strides[axis] % (kLine / static_cast<std::int64_t>(sizeof(C))) == 0;
  return aligned && vectors_in_place<C>(view);
}

// One tile of queries on its way through the keys. W is the tile's width.
template <class C>
struct QueryTile {
  QueryBlock block;
  BlockRanges ranges;
  int vectors;  // that the block fills
  ScoreUnit unit = ScoreUnit::kLog2;
  bool has_post = false;
  bool has_share = false;
  bool has_lse_gradient = false;
  bool finite = true;  // q and do are, to judge by lse and delta; else they have to be looked at
  C* qt;               // [D][W]   queries in lanes, scaled
  C* dot;              // [Dv][W]  do in lanes
  C* post;             // [2][W]   see bring_within_range
  C* shift;            // [W]      in the scores' unit
  C* low;              // [W]      the rest of it
  C* share;            // [W]
  C* of_lse;           // [W]      d_lse
  C* delta;            // [W]      rowsum(do ⊙ o)

  QueryTile(const ForwardCall& call, const QueryBlock& queries)
      : block(queries),
        ranges(call.positions, queries, static_cast<std::int64_t>(tile_width<C>())),
        vectors(vectors_for<C>(queries.count)) {}
};

// What a task uses. QB is the block's width, KB a step's keys; D and Dv rounded up to whole vectors where rows are
// stored (D', Dv').
template <class C>
struct GradientScratch {
  std::int64_t row_stride, value_stride;  // D', Dv'
  C* q;                                   // [QB][D']   rows that cannot be read in place
  C* d_o;                                 // [QB][Dv']
  C* dq;                                  // [QB][max(D', Dv')]  of a block; before that queries on their way in
  C* o;                                   // [Dv][W]    o of a tile in lanes
  C* p;                                   // [KB][QB]   weights
  C* ds;                                  // [KB][QB]
  C* bend;                                // [KB][QB]   the softcap's derivative
  C* allowed[kTilesPerBlock];             // [KB][W]    1 and 0
  C* bias;                                // [KB][W]
  C* keys;                                // [panel][D']   where they cannot be read in place
  C* values;                              // [panel][Dv']
  C* dk;                                  // [panel][D']   null where they can be summed in place
  C* dv;                                  // [panel][Dv']
  C* sums;                                // [panel or 1][2][QB]   of ds and their rests, for dbias
  C* of_tiles[kTilesPerBlock];            // qt, dot, post, shift, low, share, of_lse, delta of each tile

  GradientScratch(const BackwardCall& call, Carver& carver) {
    constexpr std::size_t kWidth = tile_width<C>();
    constexpr auto kBlock = static_cast<std::size_t>(block_width<C>());
    constexpr auto kKeys = static_cast<std::size_t>(kGradientKeys);
    const AttentionShape& shape = call.forward.shape;
    const auto width = static_cast<std::size_t>(shape.width);
    const auto value_width = static_cast<std::size_t>(shape.value_width);
    const std::size_t padded = padded_to_vector<C>(width), value_padded = padded_to_vector<C>(value_width);
    const auto panel = static_cast<std::size_t>(std::min(call.cuts.keys_per_panel, shape.key_length));
    const bool has_bias = call.dbias.is_present();
    row_stride = static_cast<std::int64_t>(padded);
    value_stride = static_cast<std::int64_t>(value_padded);
    q = carver.take<C>(kBlock * padded);
    d_o = carver.take<C>(kBlock * value_padded);
    dq = carver.take<C>(kBlock * std::max(padded, value_padded));
    o = carver.take<C>(value_width * kWidth);
    p = carver.take<C>(kKeys * kBlock);
    ds = carver.take<C>(kKeys * kBlock);
    bend = carver.take<C>(call.forward.options.softcap ? kKeys * kBlock : 0);
    for (C*& tile : allowed) tile = carver.take<C>(kKeys * kWidth);
    bias = carver.take<C>(call.forward.bias.is_present() ? kKeys * kWidth : 0);
    keys = carver.take<C>(vectors_in_place<C>(call.inputs.k) ? 0 : panel * padded);
    values = carver.take<C>(vectors_in_place<C>(call.inputs.v) ? 0 : panel * value_padded);
    const auto take_sums = [&](const View<void>& view, std::size_t stride) {
      return view.is_present() && !lines_in_place<C>(view) ? carver.take<C>(panel * stride) : nullptr;
    };
    dk = take_sums(call.outputs.dk, padded);
    dv = take_sums(call.outputs.dv, value_padded);
    sums = carver.take<C>(has_bias ? (call.dbias.strides[3] == 0 ? 1 : panel) * 2 * kBlock : 0);
    for (C*& tile : of_tiles) tile = carver.take<C>((width + value_width + 7) * kWidth);
  }
};

template <class C>
std::size_t gradient_scratch_bytes(const BackwardCall& call) {
  Carver carver(nullptr);
  const GradientScratch<C> scratch(call, carver);
  return carver.used();
}

inline std::int64_t row_index(const BackwardCall& call, const QueryBlock& block) {
  const AttentionShape& shape = call.forward.shape;
  return (block.batch * shape.query_heads + block.head) * shape.query_length + block.begin;
}

// The queries of a tile in lanes, for scores in units of 1/log2(e) where tile.unit asks for it and nothing but the
// scale touches them; else, and where folding the scale into q would lose bits, in natural units.
template <class C>
HWY_NOINLINE void pack_scaled_queries(const ForwardCall& call, const GradientScratch<C>& scratch, C* memory,
                                      QueryTile<C>& tile) {
  constexpr double kLog2e = 1.4426950408889634;
  constexpr std::size_t kWidth = tile_width<C>();
  const auto stride = static_cast<std::size_t>(scratch.row_stride);
  const View<const void>& q = call.inputs.q;
  tile.qt = memory;
  tile.dot = tile.qt + static_cast<std::size_t>(call.shape.width) * kWidth;
  tile.post = tile.dot + static_cast<std::size_t>(call.shape.value_width) * kWidth;
  tile.shift = tile.post + 2 * kWidth;
  tile.low = tile.shift + kWidth;
  tile.share = tile.low + kWidth;
  tile.of_lse = tile.share + kWidth;
  tile.delta = tile.of_lse + kWidth;
  const auto pack = [&] { transpose_queries(q, tile.block, scratch.dq, stride, tile.qt); };
  const bool has_terms = call.options.softcap || call.bias.is_present() || !call.options.slopes.empty();
  if (has_terms || !call.options.sinks.empty()) tile.unit = ScoreUnit::kNatural;
  pack();
  if (tile.unit == ScoreUnit::kLog2) {
    if (scale_queries(call.scale * kLog2e, call.shape.width, tile.vectors, tile.qt)) return;
    tile.unit = ScoreUnit::kNatural;
    pack();
  }
  tile.has_post = !scale_queries(call.scale, call.shape.width, tile.vectors, tile.qt);
  if (!tile.has_post) return;
  pack();
  bring_within_range(call.scale, call.shape.width, tile.block.count, tile.qt, tile.post);
}

// The block's rows of a tensor of queries, widened, zero behind the width and in the lanes behind the last query.
template <class C>
HWY_NOINLINE void load_rows(const View<const void>& view, const QueryBlock& block, C* HWY_RESTRICT rows,
                            std::int64_t stride) {
  const std::int64_t width = view.shape[3];
  const std::int64_t lanes = vectors_for<C>(block.count) * static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  const std::int64_t first =
      block.batch * view.strides[0] + block.head * view.strides[1] + block.begin * view.strides[2];
  for (std::int64_t i = 0; i < block.count; ++i) {
    load_row(view, first + i * view.strides[2], view.strides[3], static_cast<std::size_t>(width), rows + i * stride);
    std::fill_n(rows + i * stride + width, stride - width, C{0});
  }
  std::fill_n(rows + block.count * stride, (lanes - block.count) * stride, C{0});
}

// Keys [begin, end) of a KV tensor as C, with whole vectors of columns.
template <class C>
HWY_INLINE Rows<C> gradient_rows(const View<const void>& view, std::int64_t batch, std::int64_t kv_head,
                                 std::int64_t begin, std::int64_t end, std::int64_t stride, C* buffer) {
  const std::int64_t first = batch * view.strides[0] + kv_head * view.strides[1] + begin * view.strides[2];
  if (vectors_in_place<C>(view)) return {static_cast<const C*>(view.data) + first, view.strides[2]};
  const std::int64_t width = view.shape[3];
  for (std::int64_t j = 0; j < end - begin; ++j) {
    load_row(view, first + j * view.strides[2], view.strides[3], static_cast<std::size_t>(width), buffer + j * stride);
    std::fill_n(buffer + j * stride + width, stride - width, C{0});
  }
  return {buffer, stride};
}

inline double statistic(const View<const void>& view, const QueryBlock& block, std::int64_t query) {
  const std::int64_t at = block.batch * view.strides[0] + block.head * view.strides[1] + query * view.strides[2];
  if (view.dtype == DType::kF32) return static_cast<double>(static_cast<const float*>(view.data)[at]);
  return static_cast<const double*>(view.data)[at];
}

// delta[i] = Σ_c do[i][c] · o[i][c], summed as the products do · v are: where a query sees a single key, o is that
// value, and the gradient of its score is exactly 0. Shapes: d_o, o [Dv][W], queries in lanes; delta [W].
template <class C>
HWY_NOINLINE void multiply_columns(const C* HWY_RESTRICT d_o, const C* HWY_RESTRICT o, std::int64_t value_width,
                                   int vectors, C* HWY_RESTRICT delta) {
  const Tag<C> d;
  constexpr std::size_t kWidth = tile_width<C>();
  constexpr std::size_t kLanes = hn::MaxLanes(Tag<C>());
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(vectors) * kLanes; lane += kLanes) {
    auto sum = hn::Zero(d);
    for (std::int64_t c = 0; c < value_width; ++c) {
      const std::size_t at = static_cast<std::size_t>(c) * kWidth + lane;
      sum = hn::MulAdd(hn::Load(d, d_o + at), hn::Load(d, o + at), sum);
    }
    hn::Store(sum, d, delta + lane);
  }
}

// lse in the scores' unit: shift + low, as exact as lse itself, which was made of such scores.
template <class C>
HWY_INLINE void split_lse(double lse, ScoreUnit unit, C& shift, C& low) {
  constexpr double kLog2e = 1.4426950408889634, kRest = 2.0355273740931033e-17;  // the next bits of log2(e)
  const double ratio = unit == ScoreUnit::kNatural ? 1 : kLog2e;
  const double rest = unit == ScoreUnit::kNatural ? 0 : kRest;
  const double high = lse * ratio;
  shift = static_cast<C>(high);
  low = static_cast<C>(high - static_cast<double>(shift) + (std::fma(lse, ratio, -high) + lse * rest));
}

// What a tile's weights are measured from, and whether q and do are finite to judge by lse and delta. Constraint:
// tile.delta is there.
template <class C>
HWY_NOINLINE void load_row_terms(const BackwardCall& call, QueryTile<C>& tile) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::int64_t row = row_index(call, tile.block);
  // A q that is not finite leaves no lse finite but that of a row whose sink alone weighs something.
  tile.finite = call.forward.options.sinks.empty();
  tile.has_lse_gradient = call.inputs.d_lse.is_present();
  std::fill_n(tile.shift, 4 * tile_width<C>(), C{0});  // low, share, of_lse too: also of lanes behind the last query
  for (std::int64_t i = 0; i < tile.block.count; ++i) {
    const double lse = statistic(call.inputs.lse, tile.block, tile.block.begin + i);
    if (tile.has_share) {
      tile.shift[i] = static_cast<const C*>(call.rows.shift)[row + i];
      tile.share[i] = static_cast<const C*>(call.rows.share)[row + i];
    } else if (std::isfinite(lse)) {
      split_lse(lse, tile.unit, tile.shift[i], tile.low[i]);
    } else {
      // An empty row weighs nothing; a row that saw +inf has no weights.
      tile.shift[i] = static_cast<C>(lse == kInf ? lse - lse : -lse);
    }
    if (tile.has_lse_gradient)
      tile.of_lse[i] = static_cast<C>(statistic(call.inputs.d_lse, tile.block, tile.block.begin + i));
    tile.finite &= std::isfinite(lse) && std::isfinite(tile.delta[i]);
  }
}

// Packs q and do of a tile in lanes, with all that its rows contribute beside them. Rows that were measured anew were
// packed in natural units then: the same bits are needed here.
template <class C>
HWY_NOINLINE void begin_tile(const BackwardCall& call, const GradientScratch<C>& scratch, C* memory,
                             QueryTile<C>& tile) {
  const auto stride = static_cast<std::size_t>(scratch.value_stride);
  const C* share = static_cast<const C*>(call.rows.share);
  tile.has_share = share != nullptr && share[row_index(call, tile.block)] != C{0};
  if (tile.has_share) tile.unit = ScoreUnit::kNatural;
  pack_scaled_queries(call.forward, scratch, memory, tile);
  transpose_queries(call.inputs.o, tile.block, scratch.dq, stride, scratch.o);
  transpose_queries(call.inputs.d_o, tile.block, scratch.dq, stride, tile.dot);
  multiply_columns(tile.dot, scratch.o, call.forward.shape.value_width, tile.vectors, tile.delta);
  load_row_terms(call, tile);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
