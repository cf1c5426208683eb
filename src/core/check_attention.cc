// The rules of docs/semantics.md on shapes, options and memory, and the sentence for each one that is broken.
#include "src/core/check_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "src/core/check_view.h"
#include "src/core/positions.h"
#include "src/core/shape_table.h"
#include "src/core/shortest.h"
#include "src/core/status_macros.h"
#include "src/core/view_memory.h"

namespace qkv {
namespace {

constexpr std::string_view kOperation = "attention";

std::string number(std::int64_t value) { return std::to_string(value); }

Status check_types(const ShapeTable& table, const AttentionInputs& inputs, TypeRule rule) {
  const std::pair<const char*, View<const void>> tensors[] = {{"q", inputs.q}, {"k", inputs.k}, {"v", inputs.v}};
  for (const auto& [name, view] : tensors) {
    QKV_RETURN_IF_ERROR(check_floating(table, name, view));
    if (rule == TypeRule::kSameType && view.dtype != inputs.q.dtype)
      return shape_mismatch(table.message(std::string(name) + " is " + std::string(to_string(view.dtype)) +
                                          " but q is " + std::string(to_string(inputs.q.dtype)) +
                                          "; convert them to one type first"));
  }
  return {};
}

Status check_heads(const ShapeTable& table) {
  const std::int64_t query_heads = table["Hq"];
  const std::int64_t kv_heads = table["Hkv"];
  if (kv_heads == 0 ? query_heads == 0 : query_heads % kv_heads == 0) return {};
  return shape_mismatch(
      table.message("k has " + number(kv_heads) + " heads, which does not divide q's " + number(query_heads)));
}

Status check_broadcast(const ShapeTable& table, std::string_view name, const Dims& found) {
  const Dims full{table["B"], table["Hq"], table["Tq"], table["Tk"]};
  bool fits = found.rank() >= 1;
  for (int axis = 0; axis < found.rank(); ++axis) {
    const std::int64_t extent = found[found.rank() - 1 - axis];
    if (extent != 1 && extent != full[kMaxRank - 1 - axis]) fits = false;
  }
  if (fits) return {};
  return shape_mismatch(table.message(std::string(name) + " " + to_string(found) +
                                      " does not broadcast to [B,Hq,Tq,Tk] = " + to_string(full)));
}

Status check_boolean(const ShapeTable& table, std::string_view name, View<const void> mask) {
  if (mask.dtype == DType::kBool || mask.dtype == DType::kU8) return {};
  return shape_mismatch(table.message(std::string(name) + " is " + std::string(to_string(mask.dtype)) +
                                      "; expected bool (true = may be seen). A float mask to be added is `bias`"));
}

Status check_masks(ShapeTable& table, const AttentionOptions& options) {
  if (options.keep.is_present()) {
    QKV_RETURN_IF_ERROR(check_boolean(table, "keep", options.keep));
    QKV_RETURN_IF_ERROR(check_broadcast(table, "keep", options.keep.shape));
    QKV_RETURN_IF_ERROR(check_memory(table, "keep", options.keep));
  }
  if (options.bias.is_present()) {
    if (!is_floating(options.bias.dtype))
      return shape_mismatch(table.message("bias is " + std::string(to_string(options.bias.dtype)) +
                                          "; expected a floating type. A boolean mask is `keep`"));
    QKV_RETURN_IF_ERROR(check_broadcast(table, "bias", options.bias.shape));
    QKV_RETURN_IF_ERROR(check_memory(table, "bias", options.bias));
  }
  if (options.key_mask.is_present()) {
    QKV_RETURN_IF_ERROR(check_boolean(table, "key_mask", options.key_mask));
    QKV_RETURN_IF_ERROR(check_memory(table, "key_mask", options.key_mask));
    QKV_RETURN_IF_ERROR(table.match("key_mask", {"B", "Tk"}, options.key_mask.shape));
  }
  return {};
}

Status check_per_head(const ShapeTable& table, std::string_view name, std::span<const double> values) {
  if (values.empty() || static_cast<std::int64_t>(values.size()) == table["Hq"]) return {};
  return shape_mismatch(table.message(std::string(name) + " has " + number(static_cast<std::int64_t>(values.size())) +
                                      " values; expected [Hq] = " + number(table["Hq"])));
}

Status check_numbers(const ShapeTable& table, const AttentionOptions& options) {
  if (options.scale && !std::isfinite(*options.scale))
    return invalid_argument(table.message("scale must be finite, found " + shortest(*options.scale)));
  if (options.softcap && (*options.softcap <= 0 || !std::isfinite(*options.softcap)))
    return invalid_argument(table.message("softcap must be positive and finite, found " + shortest(*options.softcap)));
  if (options.window.left < -1 || options.window.right < -1)
    return invalid_argument(table.message("window " + number(options.window.left) + "," + number(options.window.right) +
                                          " has a side below -1 (-1 = open)"));
  if (options.corner != Corner::kOffset && options.offset != 0)
    return invalid_argument(table.message("offset " + number(options.offset) + " is given without corner=offset"));
  for (double slope : options.slopes)
    if (!std::isfinite(slope)) return invalid_argument(table.message("slopes must be finite"));
  for (double sink : options.sinks)
    if (!(sink < std::numeric_limits<double>::infinity()))
      return invalid_argument(table.message("sinks must be finite or -inf, found " + std::to_string(sink)));
  QKV_RETURN_IF_ERROR(check_per_head(table, "slopes", options.slopes));
  return check_per_head(table, "sinks", options.sinks);
}

}  // namespace

Status check_apart(const ShapeTable& table, const NamedView& written, std::span<const NamedView> others) {
  if (overlaps_itself(written.view))
    return shape_mismatch(table.message(std::string(written.name) + " has strides " + to_string(written.view.strides) +
                                        " that put two elements in one place"));
  for (const NamedView& other : others)
    if (memory_overlaps(written.view, other.view))
      return shape_mismatch(table.message(std::string(written.name) + " overlaps the memory of " + other.name +
                                          "; give it memory of its own"));
  return {};
}

Status check_options(ShapeTable& table, const AttentionOptions& options) {
  QKV_RETURN_IF_ERROR(check_masks(table, options));
  return check_numbers(table, options);
}

Result<AttentionShape> check_attention(const AttentionInputs& inputs, const AttentionOptions& options, TypeRule rule) {
  ShapeTable table(kOperation);
  QKV_RETURN_IF_ERROR(table.match("q", {"B", "Hq", "Tq", "D"}, inputs.q.shape));
  QKV_RETURN_IF_ERROR(table.match("k", {"B", "Hkv", "Tk", "D"}, inputs.k.shape));
  QKV_RETURN_IF_ERROR(table.match("v", {"B", "Hkv", "Tk", "Dv"}, inputs.v.shape));
  QKV_RETURN_IF_ERROR(check_memory(table, "q", inputs.q));
  QKV_RETURN_IF_ERROR(check_memory(table, "k", inputs.k));
  QKV_RETURN_IF_ERROR(check_memory(table, "v", inputs.v));
  QKV_RETURN_IF_ERROR(check_types(table, inputs, rule));
  QKV_RETURN_IF_ERROR(check_heads(table));
  if (table["D"] < 1 || table["Dv"] < 1) return shape_mismatch(table.message("D and Dv must be at least 1"));
  QKV_RETURN_IF_ERROR(check_options(table, options));
  AttentionShape shape;
  shape.batch = table["B"];
  shape.query_heads = table["Hq"];
  shape.kv_heads = table["Hkv"];
  shape.query_length = table["Tq"];
  shape.key_length = table["Tk"];
  shape.width = table["D"];
  shape.value_width = table["Dv"];
  if (Status status = check_positions(shape, options); !status.is_ok())
    return Status(status.code(), table.message(status.message()));
  return shape;
}

Status check_results(ShapeTable& table, std::string_view query_length, DType in, const AttentionOutputs& outputs,
                     std::span<const NamedView> read) {
  QKV_RETURN_IF_ERROR(table.match("o", {"B", "Hq", query_length, "Dv"}, outputs.o.shape));
  QKV_RETURN_IF_ERROR(check_memory(table, "o", outputs.o));
  const bool half = in == DType::kBF16 || in == DType::kF16;
  if (outputs.o.dtype != in && (!half || outputs.o.dtype != DType::kF32))
    return shape_mismatch(table.message("o is " + std::string(to_string(outputs.o.dtype)) + "; expected " +
                                        std::string(to_string(in)) + (half ? " or f32" : "") + ", the type of q"));
  const DType lse_type = in == DType::kF64 ? DType::kF64 : DType::kF32;
  if (outputs.lse.is_present()) {
    QKV_RETURN_IF_ERROR(table.match("lse", {"B", "Hq", query_length}, outputs.lse.shape));
    QKV_RETURN_IF_ERROR(check_memory(table, "lse", outputs.lse));
    if (outputs.lse.dtype != lse_type)
      return shape_mismatch(table.message("lse is " + std::string(to_string(outputs.lse.dtype)) + "; expected " +
                                          std::string(to_string(lse_type))));
  }
  for (const NamedView& written : {NamedView{"o", outputs.o}, NamedView{"lse", outputs.lse}})
    QKV_RETURN_IF_ERROR(check_apart(table, written, read));
  if (memory_overlaps(outputs.o, outputs.lse))
    return shape_mismatch(table.message("lse overlaps the memory of o; give it memory of its own"));
  return {};
}

Status check_outputs(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOutputs& outputs,
                     const AttentionOptions& options) {
  ShapeTable table(kOperation);
  table.define("B", shape.batch, "q");
  table.define("Hq", shape.query_heads, "q");
  table.define("Tq", shape.query_length, "q");
  table.define("Dv", shape.value_width, "v");
  const NamedView read[] = {{"q", inputs.q},        {"k", inputs.k},        {"v", inputs.v},
                            {"keep", options.keep}, {"bias", options.bias}, {"key_mask", options.key_mask}};
  return check_results(table, "Tq", inputs.q.dtype, outputs, read);
}

Status check_output_gradients(const AttentionShape& shape, View<const void> d_o, View<const void> d_lse) {
  ShapeTable table(kOperation);
  table.define("B", shape.batch, "q");
  table.define("Hq", shape.query_heads, "q");
  table.define("Tq", shape.query_length, "q");
  table.define("Dv", shape.value_width, "v");
  QKV_RETURN_IF_ERROR(table.match("d_o", {"B", "Hq", "Tq", "Dv"}, d_o.shape));
  QKV_RETURN_IF_ERROR(check_floating(table, "d_o", d_o));
  QKV_RETURN_IF_ERROR(check_memory(table, "d_o", d_o));
  if (!d_lse.is_present()) return {};
  QKV_RETURN_IF_ERROR(table.match("d_lse", {"B", "Hq", "Tq"}, d_lse.shape));
  QKV_RETURN_IF_ERROR(check_floating(table, "d_lse", d_lse));
  return check_memory(table, "d_lse", d_lse);
}

double resolve_scale(const AttentionShape& shape, const AttentionOptions& options) {
  return options.scale ? *options.scale : 1.0 / std::sqrt(static_cast<double>(shape.width));
}

View<const void> broadcast_to_scores(const AttentionShape& shape, View<const void> view) {
  const Dims full{shape.batch, shape.query_heads, shape.query_length, shape.key_length};
  Dims strides{0, 0, 0, 0};
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    const int from = view.shape.rank() - 1 - axis;
    if (view.shape[from] != 1) strides[kMaxRank - 1 - axis] = view.strides[from];
  }
  return {view.data, view.dtype, full, strides};
}

}  // namespace qkv
