// The memory of a task: what each block of queries keeps from panel to panel, and what all of them use in turn.

#if defined(QKV_SRC_OPS_ATTENTION_SCRATCH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QKV_SRC_OPS_ATTENTION_SCRATCH_INL_H_
#undef QKV_SRC_OPS_ATTENTION_SCRATCH_INL_H_
#else
#define QKV_SRC_OPS_ATTENTION_SCRATCH_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "src/ops/attention/forward.h"
#include "src/ops/dot/dot-inl.h"
#include "src/ops/dot/pairs-inl.h"
#include "src/ops/softmax/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Keys a step. The tile of scores (128 × 48 floats, 24 kB) stays in the L1 cache between its passes, and the output
// tile is loaded and stored once for 128 keys.
inline constexpr std::int64_t kKeysPerStep = 128;

// Keys that all blocks of a task visit before any goes on: K and V of so many stay in the L2 cache, 256 kB of f32 at a
// width of 64 and 384 kB at most. Panels begin at multiples of their length, whatever a block sees, so that how a row
// is summed does not depend on its neighbours.
inline std::int64_t panel_keys(const AttentionShape& shape) {
  constexpr std::int64_t kMost = 512;
  constexpr std::int64_t kFloats = 96 << 10;
  const std::int64_t fit = kFloats / (shape.width + shape.value_width) / kKeysPerStep * kKeysPerStep;
  return std::clamp(fit, kKeysPerStep, kMost);
}

// Whole vectors that hold `count` elements.
template <class C>
constexpr std::size_t padded_to_vector(std::size_t count) {
  return hwy::RoundUpTo(count, hn::MaxLanes(Tag<C>()));
}

// Rows of a KV tensor as C, in place or converted.
template <class C>
struct Rows {
  const C* data;
  std::int64_t stride;
};

// Whether the tiles can read a KV tensor where it lies. Rows that are far apart fall into few sets of the L1 cache and
// drive each other out: a copy into the panel pays, since several blocks read it.
template <class C>
bool readable_in_place(const View<const void>& view) {
  const std::int64_t width = view.shape[3];
  constexpr std::int64_t kFarthest = 2048 / sizeof(C);
  return view.dtype == dtype_of<C>() && (view.strides[3] == 1 || width == 1) &&
         (view.strides[2] == width || view.strides[2] <= kFarthest);
}

// Deals out pieces of one allocation, each on a 64-byte border; counts only, where there is no memory yet.
class Carver {
 public:
  explicit Carver(void* memory) : memory_(static_cast<char*>(memory)) {}
  template <class C>
  C* take(std::size_t count) {
    C* at = memory_ == nullptr ? nullptr : reinterpret_cast<C*>(memory_ + used_);
    used_ += (count * sizeof(C) + 63) / 64 * 64;
    return at;
  }
  std::size_t used() const { return used_; }

 private:
  char* memory_;
  std::size_t used_ = 0;
};

// One block of queries. W is the tile's width.
template <class C>
struct BlockState {
  C* qt;    // [D][W]   queries in lanes
  C* acc;   // [Dv][W]
  C* max;   // [W]
  C* sum;   // [W]
  C* post;  // [2][W]   factors of each query's scores, see bring_within_range

  BlockState(const AttentionShape& shape, Carver& carver)
      : qt(carver.take<C>(static_cast<std::size_t>(shape.width) * tile_width<C>())),
        acc(carver.take<C>(static_cast<std::size_t>(shape.value_width) * tile_width<C>())),
        max(carver.take<C>(tile_width<C>())),
        sum(carver.take<C>(tile_width<C>())),
        post(carver.take<C>(2 * tile_width<C>())) {}
  SoftmaxState<C> softmax(std::int64_t value_width) const { return {max, sum, acc, value_width}; }
};

// What the blocks of a task use in turn.
template <class C>
struct TaskScratch {
  std::size_t row_stride;  // of `rows`: max(D, Dv), in whole vectors
  C* scores;               // [keys of a step][W]
  C* allowed;              // [keys of a step][W]   1 and 0
  C* bias;                 // [keys of a step][W]
  C* block_max;            // [W]
  C* rows;                 // [W][row_stride]       queries on their way in, outputs on their way out
  C* keys;                 // [keys of a panel][D]  converted keys, where they cannot be read in place
  C* values;               // [keys of a panel][Dv]
  Pair* key_pairs;         // [keys of a panel][D / 2]  where they cannot be read in place
  Pair* value_pairs;       // [keys of a panel / 2][Dv]

  TaskScratch(const ForwardCall& call, Carver& carver) {
    constexpr std::size_t kTile = static_cast<std::size_t>(kKeysPerStep) * tile_width<C>();
    const bool masked = call.keep.is_present() || call.bias.is_present() || call.options.key_mask.is_present();
    const auto width = static_cast<std::size_t>(call.shape.width);
    const auto value_width = static_cast<std::size_t>(call.shape.value_width);
    const auto panel = static_cast<std::size_t>(std::min(panel_keys(call.shape), call.shape.key_length));
    row_stride = padded_to_vector<C>(std::max(width, value_width));
    scores = carver.take<C>(kTile);
    allowed = carver.take<C>(masked ? kTile : 0);
    bias = carver.take<C>(call.bias.is_present() ? kTile : 0);
    block_max = carver.take<C>(tile_width<C>());
    rows = carver.take<C>(tile_width<C>() * row_stride);
    keys = carver.take<C>(readable_in_place<C>(call.inputs.k) ? 0 : panel * width);
    values = carver.take<C>(readable_in_place<C>(call.inputs.v) ? 0 : panel * value_width);
    key_pairs = carver.take<Pair>(call.by_pairs && !holds_pairs(call.inputs.k) ? panel * width / 2 : 0);
    value_pairs = carver.take<Pair>(call.by_pairs ? (panel / 2 + 1) * value_width : 0);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#endif  // include guard
