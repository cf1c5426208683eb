// The rules on what the fast layer reads and writes, beyond those of the reference: one type, and memory of its own.
#include <algorithm>
#include <array>
#include <string>

#include "src/core/check_layer.h"
#include "src/core/check_view.h"
#include "src/core/shape_table.h"
#include "src/core/status_macros.h"
#include "src/core/view_memory.h"

namespace qkv {
namespace {

constexpr std::string_view kOperation = "layer";

struct Named {
  const char* name;
  View<const void> view;
};

std::string text(DType dtype) { return std::string(to_string(dtype)); }

bool is_half(DType dtype) { return dtype == DType::kBF16 || dtype == DType::kF16; }

// x, then the parameters; those that are absent have no view.
std::array<Named, 13> inputs_of(View<const void> x, const LayerParameters& p) {
  return {{{"x", x},
           {"gamma", p.gamma},
           {"beta", p.beta},
           {"wq", p.wq},
           {"wk", p.wk},
           {"wv", p.wv},
           {"bq", p.bq},
           {"bk", p.bk},
           {"bv", p.bv},
           {"wqkv", p.wqkv},
           {"bqkv", p.bqkv},
           {"wo", p.wo},
           {"bo", p.bo}}};
}

Status check_apart(const Named& written, const Named& other) {
  if (!memory_overlaps(written.view, other.view)) return {};
  return shape_mismatch("layer: " + std::string(written.name) + " overlaps the memory of " + other.name +
                        "; give it memory of its own");
}

Status check_one_place(const Named& written) {
  if (!overlaps_itself(written.view)) return {};
  return shape_mismatch("layer: " + std::string(written.name) + " has strides " + to_string(written.view.strides) +
                        " that put two elements in one place");
}

// One gradient against what it is the gradient of.
Status check_gradient(const Named& gradient, const Named& of) {
  if (!of.view.is_present())
    return invalid_argument("layer: " + std::string(gradient.name) + " is asked for, but the layer has no " + of.name);
  const std::string what = "layer: " + std::string(gradient.name) + " is ";
  if (gradient.view.shape != of.view.shape)
    return shape_mismatch(what + to_string(gradient.view.shape) + "; expected " + to_string(of.view.shape) +
                          ", the shape of " + of.name);
  const DType type = of.view.dtype;
  const bool in_f32 = is_half(type) && gradient.view.dtype == DType::kF32;
  if (gradient.view.dtype != type && !in_f32)
    return shape_mismatch(what + text(gradient.view.dtype) + "; expected " + text(type) +
                          (is_half(type) ? " or f32" : "") + ", the type of " + of.name);
  QKV_RETURN_IF_ERROR(check_memory(ShapeTable(kOperation), gradient.name, gradient.view));
  return check_one_place(gradient);
}

}  // namespace

Status check_layer_types(View<const void> x, const LayerParameters& parameters) {
  const std::array<Named, 13> inputs = inputs_of(x, parameters);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const View<const void>& input = inputs[i].view;
    const bool scales = i == 1 || i == 2;  // gamma and beta
    if (!input.is_present() || input.dtype == x.dtype) continue;
    if (scales && is_half(x.dtype) && input.dtype == DType::kF32) continue;
    return shape_mismatch("layer: " + std::string(inputs[i].name) + " is " + text(input.dtype) + " but x is " +
                          text(x.dtype) + "; convert them to one type first");
  }
  return {};
}

Status check_layer_kept(const LayerShape& shape, View<const void> x, const LayerParameters& parameters,
                        const LayerKept& kept) {
  const DType compute = x.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const std::int64_t keys = shape.kv_heads * (shape.width + shape.value_width);
  struct Rule {
    Named named;
    Dims shape;
    DType dtype;
  };
  const bool o_is_y = !parameters.wo.is_present();
  const std::array<Rule, 3> rules{
      {{{"kept.qkv", kept.qkv}, {shape.batch, shape.length, shape.query_heads * shape.width + keys}, x.dtype},
       {{"kept.o", kept.o},
        {shape.batch, shape.length, shape.query_heads * shape.value_width},
        o_is_y ? x.dtype : compute},
       {{"kept.lse", kept.lse}, {shape.batch, shape.query_heads, shape.length}, compute}}};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Named& part = rules[i].named;
    if (!part.view.is_present()) continue;
    const std::string what = "layer: " + std::string(part.name) + " is ";
    if (part.view.shape != rules[i].shape)
      return shape_mismatch(what + to_string(part.view.shape) + "; expected " + to_string(rules[i].shape));
    if (part.view.dtype != rules[i].dtype)
      return shape_mismatch(what + text(part.view.dtype) + "; expected " + text(rules[i].dtype));
    QKV_RETURN_IF_ERROR(check_memory(ShapeTable(kOperation), part.name, part.view));
    const bool may_be_strided = o_is_y && i == 1;
    if (!may_be_strided && part.view.strides != contiguous_strides(part.view.shape))
      return shape_mismatch(what + "not contiguous: its strides are " + to_string(part.view.strides));
    for (const Named& input : inputs_of(x, parameters)) QKV_RETURN_IF_ERROR(check_apart(part, input));
    for (std::size_t before = 0; before < i; ++before) QKV_RETURN_IF_ERROR(check_apart(part, rules[before].named));
  }
  return {};
}

Status check_layer_output(const LayerShape& shape, View<const void> x, const LayerParameters& parameters,
                          const LayerOptions& options, View<void> y, const LayerKept& kept) {
  ShapeTable table(kOperation);
  table.define("B", shape.batch, "x", x.shape);
  table.define("T", shape.length, "x", x.shape);
  table.define("Cout", shape.out_channels, "the layer's result");
  QKV_RETURN_IF_ERROR(table.match("y", {"B", "T", "Cout"}, y.shape));
  QKV_RETURN_IF_ERROR(check_memory(table, "y", y));
  if (y.dtype != x.dtype)
    return shape_mismatch(table.message("y is " + text(y.dtype) + "; expected " + text(x.dtype) + ", the type of x"));
  QKV_RETURN_IF_ERROR(check_one_place({"y", y}));
  for (const Named& input : inputs_of(x, parameters)) QKV_RETURN_IF_ERROR(check_apart({"y", y}, input));
  for (const Named& mask : {Named{"keep", options.attention.keep},
                            {"key_mask", options.attention.key_mask},
                            {"bias", options.attention.bias}})
    QKV_RETURN_IF_ERROR(check_apart({"y", y}, mask));
  QKV_RETURN_IF_ERROR(check_layer_kept(shape, x, parameters, kept));
  if (kept.o.is_present() && !parameters.wo.is_present())
    return invalid_argument("layer: kept.o is given, but without wo y is what it would hold");
  for (const Named& part : {Named{"kept.qkv", kept.qkv}, {"kept.o", kept.o}, {"kept.lse", kept.lse}})
    QKV_RETURN_IF_ERROR(check_apart(part, {"y", y}));
  return {};
}

Status check_layer_cache(View<const void> x, const LayerParameters& parameters, const KeyValueCache& cache,
                         View<void> y) {
  for (const Named& written : {Named{"the cache's k", cache.k}, {"the cache's v", cache.v}}) {
    for (const Named& input : inputs_of(x, parameters)) QKV_RETURN_IF_ERROR(check_apart(written, input));
    QKV_RETURN_IF_ERROR(check_apart({"y", y}, written));
  }
  return check_apart({"y", y}, {"the block table", cache.block_table});
}

Status check_layer_gradients(const LayerShape& shape, View<const void> x, const LayerParameters& parameters,
                             View<const void> d_y, const LayerGradientViews& gradients, const LayerKept& kept) {
  QKV_RETURN_IF_ERROR(check_layer_gradient(shape, d_y));
  if (d_y.dtype != x.dtype)
    return shape_mismatch("layer: d_y is " + text(d_y.dtype) + "; expected " + text(x.dtype) + ", the type of x");
  QKV_RETURN_IF_ERROR(check_layer_kept(shape, x, parameters, kept));
  const std::array<Named, 3> parts{{{"kept.qkv", kept.qkv}, {"kept.o", kept.o}, {"kept.lse", kept.lse}}};
  const auto missing = std::find_if(parts.begin(), parts.end(), [](const Named& n) { return !n.view.is_present(); });
  const bool any = std::any_of(parts.begin(), parts.end(), [](const Named& n) { return n.view.is_present(); });
  if (any && missing != parts.end())
    return invalid_argument("layer: " + std::string(missing->name) + " is missing; give all of kept, or none");
  const LayerGradientViews& g = gradients;
  const std::array<Named, 13> inputs = inputs_of(x, parameters);
  const std::array<Named, 13> written{{{"dx", g.dx},
                                       {"dgamma", g.dgamma},
                                       {"dbeta", g.dbeta},
                                       {"dwq", g.dwq},
                                       {"dwk", g.dwk},
                                       {"dwv", g.dwv},
                                       {"dbq", g.dbq},
                                       {"dbk", g.dbk},
                                       {"dbv", g.dbv},
                                       {"dwqkv", g.dwqkv},
                                       {"dbqkv", g.dbqkv},
                                       {"dwo", g.dwo},
                                       {"dbo", g.dbo}}};
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (!written[i].view.is_present()) continue;
    QKV_RETURN_IF_ERROR(check_gradient(written[i], inputs[i]));
    for (const Named& input : inputs) QKV_RETURN_IF_ERROR(check_apart(written[i], input));
    QKV_RETURN_IF_ERROR(check_apart(written[i], {"d_y", d_y}));
    for (const Named& part : parts) QKV_RETURN_IF_ERROR(check_apart(written[i], part));
    for (std::size_t before = 0; before < i; ++before) QKV_RETURN_IF_ERROR(check_apart(written[i], written[before]));
  }
  return {};
}

}  // namespace qkv
