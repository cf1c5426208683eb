// The parameters of one attention layer: LayerNorm, projections, heads, output projection.
#ifndef QKV_LAYER_H_
#define QKV_LAYER_H_

#include <cstdint>

#include "qkv/options.h"
#include "qkv/tensor.h"

namespace qkv {

enum class Norm : std::uint8_t {
  kNone,       // u = x
  kLayerNorm,  // u = (x − mean) / √(var + eps) · gamma + beta, biased variance, two passes
};

// Shapes: gamma beta [C]; wq [C,Hq·D] wk [C,Hkv·D] wv [C,Hkv·Dv]; bq bk bv as wide as their matrix;
//         or one fused wqkv [C,(Hq+2·Hkv)·D] with bqkv, columns in the order q k v (then Dv = D);
//         wo [Hq·Dv,Cout], bo [Cout].
// Absent: gamma means 1, beta and every bias 0, wo no output projection (the merged heads are the output).
struct LayerParameters {
  View<const void> gamma, beta;
  View<const void> wq, wk, wv;
  View<const void> bq, bk, bv;
  View<const void> wqkv, bqkv;  // instead of the six above
  View<const void> wo, bo;
};

struct LayerOptions {
  std::int64_t query_heads = 1;  // Hq
  std::int64_t kv_heads = 0;     // Hkv; 0 means Hq
  Norm norm = Norm::kLayerNorm;
  double eps = 1e-5;  // >= 0; 0 is legal as long as no row of x is constant
  AttentionOptions attention;
};

}  // namespace qkv

#endif  // QKV_LAYER_H_
