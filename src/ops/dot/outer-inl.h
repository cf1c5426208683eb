// The register tile of sums of outer products, lanes along the rows of the result: C += A B for row-major B and C.
// Whoever multiplies matrices here (gradients, projections) goes through it.

#if defined(QKV_SRC_OPS_DOT_OUTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_DOT_OUTER_INL_H_
#undef QKV_SRC_OPS_DOT_OUTER_INL_H_
#else
#define QKV_SRC_OPS_DOT_OUTER_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "src/ops/dot/dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors in the widest tile, and its rows: 24 accumulators of 32 registers, or 12 of 16, beside the row of B and one
// element of A.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
inline constexpr int kOuterVectors = 4;
inline constexpr int kOuterRegisters = 24;
#else
inline constexpr int kOuterVectors = 3;
inline constexpr int kOuterRegisters = 12;
#endif

// Rows of the tile that is `vectors` wide: as many as the accumulators allow, and no more than 8 (narrower tiles are
// bound by the latency of the FMA only below 8 accumulators). AVX-512: 6 x 4, 8 x 3, 8 x 2, 8 x 1.
constexpr int outer_rows(int vectors) { return kOuterRegisters / vectors < 8 ? kOuterRegisters / vectors : 8; }

// The first `count` lanes of memory, the others 0; reads nothing behind them.
template <class C>
HWY_INLINE hn::Vec<Tag<C>> load_first(const C* HWY_RESTRICT from, std::size_t count) {
  const Tag<C> d;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
  HWY_ALIGN C lanes[hn::MaxLanes(Tag<C>())] = {};
  for (std::size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return hn::Load(d, lanes);
#endif
}
template <class C>
HWY_INLINE void store_first(hn::Vec<Tag<C>> value, std::size_t count, C* HWY_RESTRICT to) {
  const Tag<C> d;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  hn::BlendedStore(value, hn::FirstN(d, count), d, to);
#else
  HWY_ALIGN C lanes[hn::MaxLanes(Tag<C>())];
  hn::Store(value, d, lanes);
  for (std::size_t i = 0; i < count; ++i) to[i] = lanes[i];
#endif
}

// A matrix whose elements are broadcast: element (r, i) at data[r·row_stride + i·step].
template <class C>
struct Broadcasts {
  const C* data;
  std::int64_t row_stride;
  std::int64_t step;
};

// The same pointer, as news to the compiler: it would keep the addresses of a tile's loads for its stores, and spill
// two dozen of them for it.
template <class T>
HWY_INLINE T* recomputed(T* pointer) {
  asm("" : "+r"(pointer));
  return pointer;
}

// What a sum starts from: the c that is there, or nothing (c is then not read).
enum class Start : std::uint8_t { kFromC, kFromZero };

// c[r][·] += Σ_i a(r, i) · b[i][·] (or =, with kFromZero), in the order of i, for kVectors vectors of columns and as
// many whole tiles of kRows rows as there are in `rows`; answers how many rows that was. The loop over the tiles is
// inside, since a call a tile costs 5 % at a depth of 48. Shapes: b [depth][·], row-major with b_stride, c [rows][·]
// with c_stride; any alignment. `tail`: columns in the last vector; only with kTail, else all of them count.
template <int kRows, int kVectors, bool kTail, Start kStart, class C>
HWY_NOINLINE std::int64_t outer_tiles(const Broadcasts<C>& a, std::int64_t rows, const C* HWY_RESTRICT b,
                                      std::int64_t b_stride, std::int64_t depth, C* HWY_RESTRICT c,
                                      std::int64_t c_stride, std::size_t tail) {
  const Tag<C> d;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  constexpr int kLast = kVectors - 1;
  const std::int64_t row_stride = a.row_stride, step = a.step;
  const C* HWY_RESTRICT factors = a.data;
  std::int64_t done = 0;
  for (; done + kRows <= rows; done += kRows) {
    hn::Vec<Tag<C>> sum[kRows][kVectors];
    const C* from = c;
    QKV_UNROLL
    for (int r = 0; r < kRows; ++r) {
      QKV_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (kStart == Start::kFromZero)
          sum[r][v] = hn::Zero(d);
        else
          sum[r][v] = kTail && v == kLast ? load_first(from + v * kLanes, tail) : hn::LoadU(d, from + v * kLanes);
      }
      from = recomputed(from + c_stride);
    }
    const C* HWY_RESTRICT row_of_b = b;
    const C* HWY_RESTRICT column = factors;
    for (std::int64_t i = depth; i > 0; --i) {
      hn::Vec<Tag<C>> row[kVectors];
      QKV_UNROLL
      for (int v = 0; v < kVectors; ++v)
        row[v] = kTail && v == kLast ? load_first(row_of_b + v * kLanes, tail) : hn::LoadU(d, row_of_b + v * kLanes);
      QKV_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const auto factor = hn::Set(d, column[r * row_stride]);
        QKV_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(row[v], factor, sum[r][v]);
      }
      row_of_b += b_stride;
      column += step;
    }
    C* to = recomputed(c);
    QKV_UNROLL
    for (int r = 0; r < kRows; ++r) {
      QKV_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        if (kTail && v == kLast)
          store_first(sum[r][v], tail, to + v * kLanes);
        else
          hn::StoreU(sum[r][v], d, to + v * kLanes);
      }
      to = recomputed(to + c_stride);
    }
    factors += kRows * row_stride;
    c += kRows * c_stride;
  }
  return done;
}

// The tiles of one group of kVectors vectors of columns: the tallest first, then 4, 2 and 1 rows.
template <int kVectors, bool kTail, Start kStart, class C>
HWY_INLINE void outer_columns(const Broadcasts<C>& a, std::int64_t rows, const C* HWY_RESTRICT b, std::int64_t b_stride,
                              std::int64_t depth, C* HWY_RESTRICT c, std::int64_t c_stride, std::size_t tail) {
  std::int64_t done = 0;
  const auto tiles_of = [&](auto height) HWY_ATTR {
    constexpr int kRows = decltype(height)::value;
    if (done + kRows > rows) return;
    const Broadcasts<C> rest{a.data + done * a.row_stride, a.row_stride, a.step};
    done += outer_tiles<kRows, kVectors, kTail, kStart>(rest, rows - done, b, b_stride, depth, c + done * c_stride,
                                                        c_stride, tail);
  };
  tiles_of(std::integral_constant<int, outer_rows(kVectors)>());
  if constexpr (outer_rows(kVectors) > 4) tiles_of(std::integral_constant<int, 4>());
  tiles_of(std::integral_constant<int, 2>());
  tiles_of(std::integral_constant<int, 1>());
}

// c[r][x] += Σ_i a(r, i) · b[i][x] (or =, with kFromZero)   for `rows` rows and `width` columns of any number.
// Numerics: one FMA an i, in order, whatever the tile: a row's bits do not depend on its neighbours.
// kTail: columns behind `width` up to whole vectors are neither read nor written; without it they must be there.
template <bool kTail, Start kStart = Start::kFromC, class C>
HWY_NOINLINE void outer_product(Broadcasts<C> a, std::int64_t rows, const C* HWY_RESTRICT b, std::int64_t b_stride,
                                std::int64_t depth, C* HWY_RESTRICT c, std::int64_t c_stride, std::int64_t width) {
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  // The groups are as even as can be: 5 vectors are 3 and 2, not 4 and 1.
  for (std::int64_t at = 0; at < width;) {
    const std::int64_t vectors = (width - at + kLanes - 1) / kLanes;
    const std::int64_t groups = (vectors + kOuterVectors - 1) / kOuterVectors;
    const std::int64_t here = (vectors + groups - 1) / groups;
    const std::int64_t columns = here * kLanes < width - at ? here * kLanes : width - at;
    const auto tail = static_cast<std::size_t>(columns - (here - 1) * kLanes);
    const auto run = [&](auto count) HWY_ATTR {
      constexpr int kCount = decltype(count)::value;
      if (kTail && tail < static_cast<std::size_t>(kLanes))
        outer_columns<kCount, kTail, kStart>(a, rows, b + at, b_stride, depth, c + at, c_stride, tail);
      else
        outer_columns<kCount, false, kStart>(a, rows, b + at, b_stride, depth, c + at, c_stride, tail);
    };
    switch (here) {
      case 1: run(std::integral_constant<int, 1>()); break;
      case 2: run(std::integral_constant<int, 2>()); break;
      // Where kOuterVectors is 3, this is the default. NOLINTNEXTLINE(bugprone-branch-clone)
      case 3: run(std::integral_constant<int, 3>()); break;
      default: run(std::integral_constant<int, kOuterVectors>()); break;
    }
    at += columns;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
