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

// One tile of queries on its way through the keys. W is the tile's width.
template <class C>
struct QueryTile {
  QueryBlock block;
  BlockRanges ranges;
  int vectors;  // that the block fills
  ScoreUnit unit = ScoreUnit::kLog2;
  bool has_post = false;
  bool has_share = false;
  C* qt;     // [D][W]   queries in lanes, scaled
  C* dot;    // [Dv][W]  do in lanes
  C* post;   // [2][W]   see bring_within_range
  C* shift;  // [W]      in the scores' unit
  C* share;  // [W]
  C* delta;  // [W]

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
  C* q;                                   // [QB][D']   rows as they are
  C* d_o;                                 // [QB][Dv']
  C* dq;                                  // [QB][max(D', Dv')]  of a block; before that queries on their way in
  C* p;                                   // [KB][QB]   weights
  C* ds;                                  // [KB][QB]
  C* bend;                                // [KB][QB]   the softcap's derivative
  C* allowed[kTilesPerBlock];             // [KB][W]    1 and 0
  C* bias;                                // [KB][W]
  C* keys;                                // [panel][D']   where they cannot be read in place
  C* values;                              // [panel][Dv']
  C* dk;                                  // [panel][D']
  C* dv;                                  // [panel][Dv']
  C* sums;                                // [panel or 1][QB]   of ds, for dbias
  C* of_tiles[kTilesPerBlock];            // qt, dot, post, shift, share, delta of each tile

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
    p = carver.take<C>(kKeys * kBlock);
    ds = carver.take<C>(kKeys * kBlock);
    bend = carver.take<C>(call.forward.options.softcap ? kKeys * kBlock : 0);
    for (C*& tile : allowed) tile = carver.take<C>(kKeys * kWidth);
    bias = carver.take<C>(call.forward.bias.is_present() ? kKeys * kWidth : 0);
    keys = carver.take<C>(vectors_in_place<C>(call.inputs.k) ? 0 : panel * padded);
    values = carver.take<C>(vectors_in_place<C>(call.inputs.v) ? 0 : panel * value_padded);
    dk = carver.take<C>(call.outputs.dk.is_present() ? panel * padded : 0);
    dv = carver.take<C>(call.outputs.dv.is_present() ? panel * value_padded : 0);
    sums = carver.take<C>(has_bias ? (call.dbias.strides[3] == 0 ? 1 : panel) * kBlock : 0);
    for (C*& tile : of_tiles) tile = carver.take<C>((width + value_width + 5) * kWidth);
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
  tile.share = tile.shift + kWidth;
  tile.delta = tile.share + kWidth;
  const auto pack = [&] { transpose_queries(q, tile.block, scratch.dq, stride, tile.qt); };
  const bool has_terms = call.options.softcap || call.bias.is_present() || !call.options.slopes.empty();
  if (has_terms) tile.unit = ScoreUnit::kNatural;
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

// Packs the queries of a tile, and loads its rows of the arrays of RowTerms, the shift brought to the scores' unit.
// Rows whose largest score was computed again were packed in natural units there: the same bits are needed here.
template <class C>
HWY_NOINLINE void begin_tile(const BackwardCall& call, const GradientScratch<C>& scratch, C* memory,
                             QueryTile<C>& tile) {
  constexpr double kLog2e = 1.4426950408889634;
  const std::int64_t row = row_index(call, tile.block);
  const C* shift = static_cast<const C*>(call.rows.shift) + row;
  const C* share = static_cast<const C*>(call.rows.share) + row;
  const C* delta = static_cast<const C*>(call.rows.delta) + row;
  tile.has_share = share[0] != C{0};
  if (tile.has_share) tile.unit = ScoreUnit::kNatural;
  pack_scaled_queries(call.forward, scratch, memory, tile);
  const double unit = tile.unit == ScoreUnit::kLog2 ? kLog2e : 1.0;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(tile_width<C>()); ++i) {
    const bool used = i < tile.block.count;
    tile.shift[i] = used ? static_cast<C>(static_cast<double>(shift[i]) * unit) : C{0};
    tile.share[i] = used ? share[i] : C{0};
    tile.delta[i] = used ? delta[i] : C{0};
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
