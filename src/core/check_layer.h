// Checks the parameters of a layer against x and each other, for the reference and every other way to run one.
#ifndef QKV_SRC_CORE_CHECK_LAYER_H_
#define QKV_SRC_CORE_CHECK_LAYER_H_

#include <cstdint>

#include "qkv/layer.h"
#include "qkv/status.h"

namespace qkv {

struct LayerShape {
  std::int64_t batch = 0;         // B
  std::int64_t length = 0;        // T
  std::int64_t channels = 0;      // C
  std::int64_t query_heads = 0;   // Hq
  std::int64_t kv_heads = 0;      // Hkv
  std::int64_t width = 0;         // D
  std::int64_t value_width = 0;   // Dv
  std::int64_t out_channels = 0;  // Cout; Hq·Dv without wo
};

// The shape of x [B,T,C] and the parameters, any floating types.
// Errors: kShapeMismatch with the line of the shape table that broke; kInvalidArgument for a parameter that is missing
//   or contradicts another, heads that do not divide, a bad eps. Masks and positions are left to check_attention().
Result<LayerShape> check_layer(View<const void> x, const LayerParameters& parameters, const LayerOptions& options);

// That d_y [B,T,Cout] fits the layer's result.
Status check_layer_gradient(const LayerShape& shape, View<const void> d_y);

// What the fast path asks beyond that: x and the parameters of one type (gamma and beta may be f32 beside a half type).
Status check_layer_types(View<const void> x, const LayerParameters& parameters);

// That those of `kept` that are there have their shapes and types, are contiguous, and share no memory with x, the
// parameters and each other.
Status check_layer_kept(const LayerShape& shape, View<const void> x, const LayerParameters& parameters,
                        const LayerKept& kept);

// That y [B,T,Cout] has the type of x and memory of its own, and that `kept` fits.
Status check_layer_output(const LayerShape& shape, View<const void> x, const LayerParameters& parameters,
                          const LayerOptions& options, View<void> y, const LayerKept& kept);

// That the cache shares no memory with x, the parameters and y; the rest is attention_decode's to check.
Status check_layer_cache(View<const void> x, const LayerParameters& parameters, const KeyValueCache& cache,
                         View<void> y);

// That d_y has the type of x, and every gradient that is there the shape and type of what it is the gradient of (f32 is
// allowed beside a half type) and memory of its own. Errors: as check_layer(); kInvalidArgument for the gradient of a
// parameter that is absent.
Status check_layer_gradients(const LayerShape& shape, View<const void> x, const LayerParameters& parameters,
                             View<const void> d_y, const LayerGradientViews& gradients, const LayerKept& kept);

// The same parameters with wqkv and bqkv taken apart into views of their columns.
// Constraint: check_layer() gave `shape`.
LayerParameters separated(const LayerShape& shape, LayerParameters parameters);

}  // namespace qkv

#endif  // QKV_SRC_CORE_CHECK_LAYER_H_
