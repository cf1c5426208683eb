// What the parts of a map hand to each other. No SIMD here.
#ifndef QKV_SRC_SURVEY_MAP_CALL_H_
#define QKV_SRC_SURVEY_MAP_CALL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "qkv/map.h"
#include "src/ops/attention/forward.h"

namespace qkv {

// Weights [begin, end) of an axis in pixels of `step`.
struct PixelAxis {
  std::int64_t begin, end, step;
  std::int64_t pixels() const { return (end - begin + step - 1) / step; }
  std::int64_t pixel_of(std::int64_t at) const { return (at - begin) / step; }
  // The first weight behind a pixel.
  std::int64_t end_of(std::int64_t pixel) const { return begin + (pixel + 1) * step; }
};

// A picture as it grows: [rows.pixels()][columns.pixels()], row stride in floats. `mean` holds sums until it is
// divided.
struct Picture {
  PixelAxis rows, columns;
  float* max;
  float* mean;
  std::int64_t stride;
};

// What is known of each row, [Tq]; null where nobody asks.
struct RowResults {
  double* lse;
  double* entropy;
  double* largest;
};

struct MapKernel {
  std::int64_t queries = 0;  // the most that a block may hold
  std::size_t (*scratch_bytes)(const ForwardCall& call, const PixelAxis& columns) = nullptr;
  // Adds a block's rows to the picture; none of its pixel rows belongs to another task. Without `lse` the rows are
  // normalised by what the pass finds, and that is written to `results`; with it, only the keys of the picture are
  // looked at. `scratch` is 64-byte aligned and belongs to this call alone.
  void (*run)(const ForwardCall& call, const QueryBlock& block, const double* lse, const Picture& picture,
              const RowResults& results, void* scratch) = nullptr;
};

// Constraint: `target` is one of available_targets(). `run` is null where the target has no such type.
MapKernel map_kernel(Target target, DType dtype);

}  // namespace qkv

#endif  // QKV_SRC_SURVEY_MAP_CALL_H_
