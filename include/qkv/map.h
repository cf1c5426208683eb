// The weights of one head as pictures: the whole in one pass, any part of it at any zoom, one row with its reasons.
#ifndef QKV_MAP_H_
#define QKV_MAP_H_

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/options.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

#pragma GCC visibility push(default)
namespace qkv {

// One head. The heads of a tensor [B,H,T,D] are views of it.
struct MapInputs {
  View<const void> q;  // [1,1,Tq,D]
  View<const void> k;  // [1,1,Tk,D]
};

// The whole map, a pixel for each `step` × `step` weights (fewer at the right and lower edge).
struct Overview {
  std::int64_t step = 1;        // a power of two
  Tensor max;                   // [ceil(Tq/step), ceil(Tk/step)]  the largest weight of each pixel
  Tensor mean;                  // the same shape                  their mean; what is hidden counts as 0
  std::vector<double> lse;      // [Tq]
  std::vector<double> entropy;  // [Tq]  −Σ p ln p
  std::vector<double> largest;  // [Tq]  max p
};

struct OverviewOptions {
  std::int64_t pixels = 1024;  // no more of them a side
  DType dtype = DType::kF32;   // of the pictures: f32 or f16
};

// Computes the map of a head in one pass over its scores, and what the rows of it add up to.
//
// Shapes: as above; masks, bias, sinks and slopes of `options` as attention_forward's, for one batch entry and head.
// Errors: those of attention_forward for q, k and options; kInvalidArgument for pixels below 1 or another dtype;
//   kCancelled.
// Numerics: weights in f32 (f64 for f64), exact but for rounding: nothing is left out or sampled. An empty row is 0 and
//   has lse −inf; a row whose scores are not finite is NaN, in its pixels too.
// Cost: 2 D flops a visible pair and an exponential; memory O(pixels² + Tq + Tk). The same bits for any thread count.
Result<Overview> map_overview(const MapInputs& inputs, const AttentionOptions& options = {},
                              const OverviewOptions& overview = {}, const Execution& execution = {});

// A rectangle of the map: pixels of `step` × `step` weights, from weight (row, column) on.
struct MapTile {
  std::int64_t row = 0, column = 0;        // of the first weight; anywhere in the map
  std::int64_t step = 1;                   // any number from 1 on
  std::int64_t height = 256, width = 256;  // in pixels; those past the edge of the map are 0
};

struct MapTileOutputs {
  View<float> max, mean;  // [height,width] each; row stride any, last stride 1
};

// Computes the pixels of a rectangle from the lse of its rows, as map_overview gave it.
// Shapes: lse [Tq]. Errors: as map_overview; kShapeMismatch for lse or outputs; kInvalidArgument for a tile that begins
//   outside the map or a step below 1. Numerics and cost as map_overview, of the rectangle alone.
Status map_tile(const MapInputs& inputs, std::span<const double> lse, const MapTile& tile,
                const MapTileOutputs& outputs, const AttentionOptions& options = {}, const Execution& execution = {});

// One row of the map, and why it is so.
struct MapRow {
  double lse = 0, entropy = 0;
  double allowed = 0;                         // keys that it may see
  double sink = 0;                            // what a sink logit takes
  std::vector<std::int64_t> keys;             // by falling weight, equal weights by index
  std::vector<double> weights;                // theirs
  std::vector<double> cumulative;             // weights[0] + … + weights[n]
  std::vector<double> scores;                 // scale · q·k, before softcap, bias and mask
  std::vector<std::vector<double>> products;  // [keys][D]  scale · q_d k_d: they add up to the score
};

// Computes one row in float64: its `top` largest weights, with the product of every dimension.
// Errors: as map_overview; kInvalidArgument for a row that is not there.
Result<MapRow> map_row(const MapInputs& inputs, std::int64_t row, std::int64_t top = 16,
                       const AttentionOptions& options = {});

}  // namespace qkv
#pragma GCC visibility pop

#endif  // QKV_MAP_H_
