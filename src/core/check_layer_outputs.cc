// The rules on what the fast layer reads and writes, beyond those of the reference: one type, and memory of its own.
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
  if (gradient.view.dtype != type && !(is_half(type) && gradient.view.dtype == DType::kF32))
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

Status check_layer_output(const LayerShape& shape, View<const void> x, const LayerParameters& parameters,
                          const LayerOptions& options, View<void> y) {
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
  return {};
}

Status check_layer_gradients(const LayerShape& shape, View<const void> x, const LayerParameters& parameters,
                             View<const void> d_y, const LayerGradientViews& gradients) {
  QKV_RETURN_IF_ERROR(check_layer_gradient(shape, d_y));
  if (d_y.dtype != x.dtype)
    return shape_mismatch("layer: d_y is " + text(d_y.dtype) + "; expected " + text(x.dtype) + ", the type of x");
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
    for (std::size_t before = 0; before < i; ++before) QKV_RETURN_IF_ERROR(check_apart(written[i], written[before]));
  }
  return {};
}

}  // namespace qkv
