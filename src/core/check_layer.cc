// The rules on a layer's parameters, and the sentence for each one that is broken.
#include "src/core/check_layer.h"

#include <cmath>
#include <string>

#include "src/core/check_view.h"
#include "src/core/shape_table.h"
#include "src/core/shortest.h"
#include "src/core/status_macros.h"

namespace qkv {
namespace {

constexpr std::string_view kOperation = "layer";

struct Named {
  const char* name;
  View<const void> view;
};

std::string number(std::int64_t value) { return std::to_string(value); }

Status check_numbers(const LayerOptions& options) {
  if (options.query_heads < 1)
    return invalid_argument("layer: query_heads must be at least 1, found " + number(options.query_heads));
  if (options.kv_heads < 0)
    return invalid_argument("layer: kv_heads must be at least 1 (or 0 for as many as query_heads), found " +
                            number(options.kv_heads));
  if (options.kv_heads > 0 && options.query_heads % options.kv_heads != 0)
    return invalid_argument("layer: kv_heads = " + number(options.kv_heads) +
                            " does not divide query_heads = " + number(options.query_heads));
  if (options.eps >= 0 && std::isfinite(options.eps)) return {};
  return invalid_argument("layer: eps must be finite and not negative, found " + shortest(options.eps));
}

// Which parameters are there and which are not, before any shape is looked at.
Status check_presence(const LayerParameters& p, const LayerOptions& options) {
  if (p.wqkv.is_present()) {
    for (const Named& other : {Named{"wq", p.wq}, {"wk", p.wk}, {"wv", p.wv}, {"bq", p.bq}, {"bk", p.bk}, {"bv", p.bv}})
      if (other.view.is_present())
        return invalid_argument("layer: " + std::string(other.name) +
                                " is given beside the fused wqkv; give one or the other");
  } else {
    for (const Named& matrix : {Named{"wq", p.wq}, {"wk", p.wk}, {"wv", p.wv}})
      if (!matrix.view.is_present())
        return invalid_argument("layer: " + std::string(matrix.name) +
                                " is missing; give wq, wk and wv, or one fused wqkv");
    if (p.bqkv.is_present()) return invalid_argument("layer: bqkv belongs to a fused wqkv; give bq, bk and bv instead");
  }
  if (p.bo.is_present() && !p.wo.is_present()) return invalid_argument("layer: bo is given without wo");
  if (options.norm == Norm::kLayerNorm) return {};
  for (const Named& scale : {Named{"gamma", p.gamma}, {"beta", p.beta}})
    if (scale.view.is_present())
      return invalid_argument("layer: " + std::string(scale.name) + " is given but the layer has no norm");
  return {};
}

// Matches a tensor if it is there.
Status match(ShapeTable& table, const Named& tensor, ShapeTable::Letters letters) {
  if (!tensor.view.is_present()) return {};
  QKV_RETURN_IF_ERROR(table.match(tensor.name, letters, tensor.view.shape));
  QKV_RETURN_IF_ERROR(check_floating(table, tensor.name, tensor.view));
  return check_memory(table, tensor.name, tensor.view);
}

// Binds `letter` to the columns that each of `parts` equal blocks of a matrix has.
Status bind_width(ShapeTable& table, const Named& matrix, std::string_view letter, std::int64_t parts,
                  std::string_view parts_name) {
  const Dims& shape = matrix.view.shape;
  if (shape.rank() != 2)
    return shape_mismatch(table.message(std::string(matrix.name) + " [C," + std::string(parts_name) + "*" +
                                        std::string(letter) + "] needs 2 axes, found " + number(shape.rank()) + ": " +
                                        to_string(shape)));
  if (shape[1] < parts || shape[1] % parts != 0)
    return shape_mismatch(table.message(std::string(matrix.name) + " " + to_string(shape) + " has " + number(shape[1]) +
                                        " columns; expected a multiple of " + std::string(parts_name) + " = " +
                                        number(parts)));
  table.define(letter, shape[1] / parts, matrix.name, shape);
  return {};
}

Status check_projections(ShapeTable& table, const LayerParameters& p) {
  if (p.wqkv.is_present()) {
    const std::int64_t parts = table["Hq"] + 2 * table["Hkv"];
    table.define("(Hq+2Hkv)", parts, "the heads");
    QKV_RETURN_IF_ERROR(bind_width(table, {"wqkv", p.wqkv}, "D", parts, "(Hq+2Hkv)"));
    table.define("Dv", table["D"], "wqkv");
    QKV_RETURN_IF_ERROR(match(table, {"wqkv", p.wqkv}, {"C", "(Hq+2Hkv)*D"}));
    return match(table, {"bqkv", p.bqkv}, {"(Hq+2Hkv)*D"});
  }
  QKV_RETURN_IF_ERROR(bind_width(table, {"wq", p.wq}, "D", table["Hq"], "Hq"));
  QKV_RETURN_IF_ERROR(match(table, {"wq", p.wq}, {"C", "Hq*D"}));
  QKV_RETURN_IF_ERROR(match(table, {"wk", p.wk}, {"C", "Hkv*D"}));
  QKV_RETURN_IF_ERROR(bind_width(table, {"wv", p.wv}, "Dv", table["Hkv"], "Hkv"));
  QKV_RETURN_IF_ERROR(match(table, {"wv", p.wv}, {"C", "Hkv*Dv"}));
  QKV_RETURN_IF_ERROR(match(table, {"bq", p.bq}, {"Hq*D"}));
  QKV_RETURN_IF_ERROR(match(table, {"bk", p.bk}, {"Hkv*D"}));
  return match(table, {"bv", p.bv}, {"Hkv*Dv"});
}

// Columns [begin, begin + count) of a matrix, or entries of a vector.
View<const void> columns(const View<const void>& view, std::int64_t begin, std::int64_t count) {
  if (!view.is_present()) return {};
  View<const void> part = view;
  const int last = view.shape.rank() - 1;
  part.shape[last] = count;
  const std::int64_t skip = begin * view.strides[last] * static_cast<std::int64_t>(size_of(view.dtype));
  if (view.data != nullptr) part.data = static_cast<const char*>(view.data) + skip;
  return part;
}

}  // namespace

Result<LayerShape> check_layer(View<const void> x, const LayerParameters& parameters, const LayerOptions& options) {
  QKV_RETURN_IF_ERROR(check_numbers(options));
  QKV_RETURN_IF_ERROR(check_presence(parameters, options));
  ShapeTable table(kOperation);
  QKV_RETURN_IF_ERROR(match(table, {"x", x}, {"B", "T", "C"}));
  if (!x.is_present() || table["C"] < 1) return shape_mismatch(table.message("x [B,T,C] needs C >= 1"));
  table.define("Hq", options.query_heads, "query_heads");
  table.define("Hkv", options.kv_heads == 0 ? options.query_heads : options.kv_heads, "kv_heads");
  QKV_RETURN_IF_ERROR(match(table, {"gamma", parameters.gamma}, {"C"}));
  QKV_RETURN_IF_ERROR(match(table, {"beta", parameters.beta}, {"C"}));
  QKV_RETURN_IF_ERROR(check_projections(table, parameters));
  QKV_RETURN_IF_ERROR(match(table, {"wo", parameters.wo}, {"Hq*Dv", "Cout"}));
  QKV_RETURN_IF_ERROR(match(table, {"bo", parameters.bo}, {"Cout"}));
  LayerShape shape;
  shape.batch = table["B"];
  shape.length = table["T"];
  shape.channels = table["C"];
  shape.query_heads = table["Hq"];
  shape.kv_heads = table["Hkv"];
  shape.width = table["D"];
  shape.value_width = table["Dv"];
  shape.out_channels = parameters.wo.is_present() ? table["Cout"] : shape.query_heads * shape.value_width;
  return shape;
}

Status check_layer_gradient(const LayerShape& shape, View<const void> d_y) {
  ShapeTable table(kOperation);
  table.define("B", shape.batch, "x");
  table.define("T", shape.length, "x");
  table.define("Cout", shape.out_channels, "the layer's result");
  QKV_RETURN_IF_ERROR(table.match("d_y", {"B", "T", "Cout"}, d_y.shape));
  QKV_RETURN_IF_ERROR(check_floating(table, "d_y", d_y));
  return check_memory(table, "d_y", d_y);
}

LayerParameters separated(const LayerShape& shape, LayerParameters parameters) {
  if (!parameters.wqkv.is_present()) return parameters;
  const std::int64_t q = shape.query_heads * shape.width;
  const std::int64_t kv = shape.kv_heads * shape.width;
  parameters.wq = columns(parameters.wqkv, 0, q);
  parameters.wk = columns(parameters.wqkv, q, kv);
  parameters.wv = columns(parameters.wqkv, q + kv, kv);
  parameters.bq = columns(parameters.bqkv, 0, q);
  parameters.bk = columns(parameters.bqkv, q, kv);
  parameters.bv = columns(parameters.bqkv, q + kv, kv);
  parameters.wqkv = {};
  parameters.bqkv = {};
  return parameters;
}

}  // namespace qkv
