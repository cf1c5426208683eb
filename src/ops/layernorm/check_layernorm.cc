// The sentence for each rule of LayerNorm that is broken.
#include "src/ops/layernorm/check_layernorm.h"

#include <cmath>
#include <string>

#include "src/core/check_view.h"
#include "src/core/shape_table.h"
#include "src/core/status_macros.h"

namespace qkv {
namespace {

Status check_vector(ShapeTable& table, std::string_view name, View<const void> vector) {
  if (!vector.is_present()) return {};
  QKV_RETURN_IF_ERROR(table.match(name, {"C"}, vector.shape));
  QKV_RETURN_IF_ERROR(check_floating(table, name, vector));
  return check_memory(table, name, vector);
}

}  // namespace

Status check_layernorm(View<const void> x, const LayerNormWeights& weights) {
  ShapeTable table("layernorm");
  if (x.shape.rank() < 1 || x.shape[x.shape.rank() - 1] < 1)
    return shape_mismatch(table.message("x [...,C] is " + to_string(x.shape) + "; expected C >= 1"));
  QKV_RETURN_IF_ERROR(check_floating(table, "x", x));
  QKV_RETURN_IF_ERROR(check_memory(table, "x", x));
  table.define("C", x.shape[x.shape.rank() - 1], "x", x.shape);
  QKV_RETURN_IF_ERROR(check_vector(table, "gamma", weights.gamma));
  QKV_RETURN_IF_ERROR(check_vector(table, "beta", weights.beta));
  if (weights.eps >= 0 && std::isfinite(weights.eps)) return {};
  return invalid_argument(table.message("eps must be finite and not negative, found " + std::to_string(weights.eps)));
}

Status check_layernorm_gradient(View<const void> x, View<const void> d_u) {
  const ShapeTable table("layernorm");
  if (d_u.shape != x.shape)
    return shape_mismatch(
        table.message("d_u is " + to_string(d_u.shape) + "; expected " + to_string(x.shape) + ", the shape of x"));
  QKV_RETURN_IF_ERROR(check_floating(table, "d_u", d_u));
  return check_memory(table, "d_u", d_u);
}

}  // namespace qkv
