// The memory of a decode task, and its queries made ready: scaled so that no product with a key can overflow.

#if defined(QKV_SRC_OPS_ATTENTION_DECODE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_DECODE_ROWS_INL_H_
#undef QKV_SRC_OPS_ATTENTION_DECODE_ROWS_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_DECODE_ROWS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "src/ops/attention/decode.h"
#include "src/ops/attention/decode_terms.h"
#include "src/ops/attention/decode_tiles-inl.h"
#include "src/ops/dot/dot-inl.h"
#include "src/ops/softmax/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How the rows of a cache tensor are read.
enum class Reading : std::uint8_t { kAsItIs, kPairsOfBF16, kWidenedBF16, kWidenedF16, kPacked };

template <class C>
Reading reading_of(const View<const void>& cache) {
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  const std::int64_t width = cache.shape[3];
  if (width % kLanes != 0 || (cache.strides[3] != 1 && width != 1)) return Reading::kPacked;
  if (cache.dtype == dtype_of<C>()) return Reading::kAsItIs;
  if (cache.dtype == DType::kF16) return Reading::kWidenedF16;
  return width % (2 * kLanes) == 0 ? Reading::kPairsOfBF16 : Reading::kWidenedBF16;
}

// Calls body(loader). kPacked rows are in a buffer of C.
template <class C, class Body>
HWY_INLINE auto with_loader(Reading reading, const Body& body) {
  if constexpr (std::is_same_v<C, float>) {
    if (reading == Reading::kPairsOfBF16) return body(PairsOfBF16());
    if (reading == Reading::kWidenedBF16) return body(WidenedBF16());
    if (reading == Reading::kWidenedF16) return body(WidenedF16());
  }
  return body(AsItIs<C>());
}

// Calls body(integral_constant<int, rows>) with the rows of a group's tile.
template <class Body>
HWY_INLINE void with_rows(std::int64_t row_count, const Body& body) {
  if (row_count == 1) return body(std::integral_constant<int, 1>());
  if (row_count == 2) return body(std::integral_constant<int, 2>());
  body(std::integral_constant<int, kGroupRows>());
}
inline ScoreLayout layout_of(std::int64_t row_count) {
  return {kScoreTile, kScoreTile / (row_count > 2 ? kGroupRows : row_count)};
}

// Keys of a block: 16 kB of K, so that K, V and what is asked for next stay in the L1 cache.
inline std::int64_t block_keys(const View<const void>& k) {
  constexpr std::int64_t kBytes = 16 << 10;
  return std::clamp<std::int64_t>(kBytes / (k.shape[3] * static_cast<std::int64_t>(size_of(k.dtype))) / 16 * 16, 16,
                                  128);
}

constexpr std::size_t whole_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// Hands out 64-byte aligned arrays one after the other; with a null memory it only counts.
struct Arrays {
  char* memory;
  std::size_t used = 0;
  template <class T>
  T* take(std::size_t count) {
    T* at = memory == nullptr ? nullptr : reinterpret_cast<T*>(memory + used);
    used += whole_lines(count * sizeof(T));
    return at;
  }
};

// Sizes that all arrays of a call share.
template <class C>
struct DecodeSizes {
  std::size_t rows, groups;         // of a task at most, rows rounded up to whole groups
  std::int64_t width, value_width;  // D and Dv rounded up to a vector

  explicit DecodeSizes(const AttentionShape& shape) {
    constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
    const std::int64_t most = std::min(kMostRows, shape.group() * shape.query_length);
    groups = static_cast<std::size_t>((most + kGroupRows - 1) / kGroupRows);
    rows = groups * kGroupRows;
    width = (shape.width + kLanes - 1) / kLanes * kLanes;
    value_width = (shape.value_width + kLanes - 1) / kLanes * kLanes;
  }
};

// The rows' softmax over one chunk of keys.
template <class C>
struct PartArrays {
  C* acc;  // [rows][value_width]
  C* max;  // [rows]
  C* sum;  // [rows]
  std::size_t size;

  PartArrays(const AttentionShape& shape, void* memory) {
    const DecodeSizes<C> sizes(shape);
    Arrays arrays{static_cast<char*>(memory)};
    acc = arrays.take<C>(sizes.rows * static_cast<std::size_t>(sizes.value_width));
    max = arrays.take<C>(sizes.rows);
    sum = arrays.take<C>(sizes.rows);
    size = arrays.used;
  }
};

// Where the keys of a block lie; see KeyBlock.
struct BlockArrays {
  std::int64_t* keys;  // [block + kScoreTile]
  const void** k;      // the same
  const void** v;      // the same
};

template <class C>
struct DecodeScratch {
  C* q;        // [rows][width]             in the order of K's loader
  C* post;     // [groups][2][kScoreTile]   factors of the scores
  C* max;      // [groups][kScoreTile]      of a row, once for each of its keys in a tile
  C* sum;      // the same, of these keys alone
  C* scores;   // [groups][block · 4]
  C* allowed;  // the same
  C* added;    // the same
  C* shrink;   // [rows]
  C* row;      // [max(width, value_width)]
  C* k;        // [block][width]            converted rows, where they cannot be read in place
  C* v;        // [block][value_width]
  BlockArrays blocks[2];
  std::int64_t block;        // keys
  std::size_t block_scores;  // of a group
  std::size_t size;          // bytes

  DecodeScratch(const DecodeCall& call, void* memory) {
    const DecodeSizes<C> sizes(call.shape);
    block = block_keys(call.k);
    const auto keys = static_cast<std::size_t>(block);
    block_scores = keys * kGroupRows;
    Arrays arrays{static_cast<char*>(memory)};
    q = arrays.take<C>(sizes.rows * static_cast<std::size_t>(sizes.width));
    post = arrays.take<C>(sizes.groups * 2 * kScoreTile);
    max = arrays.take<C>(sizes.groups * kScoreTile);
    sum = arrays.take<C>(sizes.groups * kScoreTile);
    scores = arrays.take<C>(sizes.groups * block_scores);
    allowed = arrays.take<C>(sizes.groups * block_scores);
    added = arrays.take<C>(sizes.groups * block_scores);
    shrink = arrays.take<C>(sizes.rows);
    row = arrays.take<C>(static_cast<std::size_t>(std::max(sizes.width, sizes.value_width)));
    const bool pack_k = reading_of<C>(call.k) == Reading::kPacked;
    const bool pack_v = reading_of<C>(call.v) == Reading::kPacked;
    k = arrays.take<C>(pack_k ? keys * static_cast<std::size_t>(sizes.width) : 0);
    v = arrays.take<C>(pack_v ? keys * static_cast<std::size_t>(sizes.value_width) : 0);
    for (BlockArrays& its : blocks) {
      its.keys = arrays.take<std::int64_t>(keys + kScoreTile);
      its.k = arrays.take<const void*>(keys + kScoreTile);
      its.v = arrays.take<const void*>(keys + kScoreTile);
    }
    size = arrays.used;
  }
};

// The sizes of the largest finite and of the smallest element that is not 0. Constraint: zeros fill up the last vector.
template <class C>
HWY_INLINE void find_sizes(const C* HWY_RESTRICT row, std::int64_t width, C& smallest, C& largest) {
  const Tag<C> d;
  const auto most = hn::Set(d, std::numeric_limits<C>::max());
  auto low = most;
  auto high = hn::Zero(d);
  for (std::int64_t c = 0; c < width; c += static_cast<std::int64_t>(hn::MaxLanes(d))) {
    const auto size = hn::Abs(hn::Load(d, row + c));
    high = hn::Max(high, hn::IfThenElseZero(hn::Le(size, most), size));
    low = hn::Min(low, hn::IfThenElse(hn::Gt(size, hn::Zero(d)), size, most));  // NaN is not > 0
  }
  smallest = hn::GetLane(hn::MinOfLanes(d, low));
  largest = hn::GetLane(hn::MaxOfLanes(d, high));
}

// Brings a query to a power of two at which its product with any key is no larger than their score, if no element loses
// bits; `post` [2] are the factors that turn a product into a score: together factor / 2^k.
//
// Where elements would be lost the query goes near 2^-11 instead: 2048 products with the largest keys still add up to a
// finite number; the rest of the scale may lie outside the type, hence two factors. Answers whether there are two.
template <class C>
HWY_NOINLINE bool bring_query_within_range(double factor, std::int64_t width, C* HWY_RESTRICT row, C* post) {
  constexpr int kLargest = std::numeric_limits<C>::max_exponent - 2;
  constexpr int kHeadroom = 11;
  constexpr C kSmallest = sizeof(C) == 4 ? static_cast<C>(1e-30) : static_cast<C>(1e-290);
  const auto multiply = [&](C by) {
    for (std::int64_t c = 0; c < width; ++c) row[c] *= by;
  };
  post[0] = post[1] = C{1};
  if (factor == 0) return multiply(C{0}), false;
  int power = 0;
  const double scale = 2 * std::frexp(factor, &power);  // in [1, 2)
  --power;
  C smallest, largest;
  find_sizes(row, width, smallest, largest);
  const auto by = static_cast<C>(std::ldexp(1.0, std::clamp(power, -kLargest, kLargest)));
  if (std::abs(power) <= kLargest && smallest * by >= kSmallest && largest * by <= std::numeric_limits<C>::max()) {
    post[0] = static_cast<C>(scale);
    return multiply(by), false;
  }
  int exponent = 0;
  std::frexp(largest, &exponent);
  exponent = std::clamp(exponent + kHeadroom, -kLargest, kLargest);
  multiply(static_cast<C>(std::ldexp(1.0, -exponent)));
  const int both = power + exponent;
  const int first = both / 2;
  post[0] = static_cast<C>(std::ldexp(scale, std::clamp(first, -kLargest, kLargest)));
  post[1] = static_cast<C>(std::ldexp(1.0, std::clamp(both - first, -kLargest, kLargest)));
  return true;
}

// q and post of all rows of a task; rows that fill up the last group are 0. Answers whether scores have two factors.
template <class C>
HWY_NOINLINE bool prepare_queries(const DecodeCall& call, const DecodeTask& task, double factor, Reading reading,
                                  const DecodeScratch<C>& scratch) {
  const DecodeSizes<C> sizes(call.shape);
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag<C>()));
  const std::int64_t width = call.shape.width;
  bool is_split = false;
  std::fill_n(scratch.q, sizes.rows * static_cast<std::size_t>(sizes.width), C{0});
  std::fill_n(scratch.post, sizes.groups * 2 * kScoreTile, C{1});
  std::fill(scratch.row + width, scratch.row + sizes.width, C{0});
  for (std::int64_t r = 0; r < task.row_count; ++r) {
    const std::int64_t of_head = task.row_begin + r;
    const std::int64_t head = task.kv_head * call.shape.group() + of_head % call.shape.group();
    const std::int64_t query = of_head / call.shape.group();
    load_row(call.q, task.batch * call.q.strides[0] + head * call.q.strides[1] + query * call.q.strides[2],
             call.q.strides[3], static_cast<std::size_t>(width), scratch.row);
    C post[2];
    is_split |= bring_query_within_range(factor, width, scratch.row, post);
    C* HWY_RESTRICT q = scratch.q + r * sizes.width;
    if (reading == Reading::kPairsOfBF16)
      for (std::int64_t c = 0; c < width; c += 2 * kLanes)
        for (std::int64_t i = 0; i < kLanes; ++i) {
          q[c + i] = scratch.row[c + 2 * i];
          q[c + kLanes + i] = scratch.row[c + 2 * i + 1];
        }
    else
      std::copy_n(scratch.row, width, q);
    const std::int64_t group = r / kGroupRows;
    const std::int64_t keys = layout_of(std::min<std::int64_t>(kGroupRows, task.row_count - group * kGroupRows)).keys;
    C* to = scratch.post + group * 2 * kScoreTile + r % kGroupRows * keys;
    std::fill_n(to, keys, post[0]);
    std::fill_n(to + kScoreTile, keys, post[1]);
  }
  return is_split;
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
