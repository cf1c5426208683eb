// A mapping to the views of LayerParameters; the rules among them are the core's.
#include "apps/python/layer_arguments.h"

#include <algorithm>
#include <string>

#include "src/core/four_axes.h"

namespace qkv::python {
namespace {

View<const void> three_axes(View<const void> view) { return view.shape.rank() == 2 ? padded(view, 3) : view; }

}  // namespace

LayerArguments::LayerArguments(nb::tuple inputs, nb::tuple layer, const Options& given)
    : given_x_("x", inputs[0]), x_(three_axes(given_x_.view)) {
  read_parameters(inputs[1]);
  read_options(layer, given);
  const Result<LayerShape> checked = check_layer(x_, views_, options_);
  raise_if_error(checked.status());
  shape_ = *checked;
}

void LayerArguments::read_parameters(nb::handle parameters) {
  objects_.fill(nb::none());
  if (!nb::isinstance<nb::dict>(parameters))
    throw nb::type_error(("parameters is a " + kind_of(parameters) + "; expected a dict of names and arrays").c_str());
  for (const auto& [key, array] : nb::borrow<nb::dict>(parameters)) {
    const std::string name = as_text("a key of parameters", key);
    const auto found = std::find(kParameterNames.begin(), kParameterNames.end(), name);
    if (found == kParameterNames.end()) {
      std::string message = "parameters holds '" + name + "'; expected some of";
      for (const std::string_view one : kParameterNames)
        message += (one == kParameterNames.front() ? " " : ", ") + std::string(one);
      throw nb::value_error(message.c_str());
    }
    const auto which = static_cast<std::size_t>(found - kParameterNames.begin());
    objects_[which] = array;
    parameters_[which] = Input::optional(found->data(), array);
  }
  LayerParameters& v = views_;
  const std::array<View<const void>*, kParameterNames.size()> places = {
      &v.gamma, &v.beta, &v.wq, &v.wk, &v.wv, &v.bq, &v.bk, &v.bv, &v.wqkv, &v.bqkv, &v.wo, &v.bo};
  for (std::size_t i = 0; i < places.size(); ++i) *places[i] = parameters_[i].view;
}

void LayerArguments::read_options(nb::tuple layer, const Options& given) {
  options_.query_heads = as_integer("query_heads", layer[0]);
  if (!layer[1].is_none()) options_.kv_heads = as_integer("kv_heads", layer[1]);
  const std::string norm = as_text("norm", layer[2]);
  if (norm != "layernorm" && norm != "none")
    throw nb::value_error(("norm '" + norm + "' is unknown; expected 'layernorm' or 'none'").c_str());
  options_.norm = norm == "none" ? Norm::kNone : Norm::kLayerNorm;
  options_.eps = as_number("eps", layer[3]);
  attention_.emplace(given, ReadOptions::Query{has_batch(), options_.query_heads});
  options_.attention = attention_->get();
}

double LayerArguments::flops() const {
  const auto tokens = static_cast<double>(shape_.batch * shape_.length);
  const auto widths = static_cast<double>(shape_.query_heads * (shape_.width + shape_.value_width));
  return 2 * tokens * widths * static_cast<double>(shape_.channels + shape_.length + shape_.out_channels);
}

Dims LayerArguments::shown(std::int64_t width) const {
  return has_batch() ? Dims{shape_.batch, shape_.length, width} : Dims{shape_.length, width};
}

View<void> LayerArguments::with_batch(const View<void>& view) const {
  if (has_batch() || view.shape.rank() != 2) return view;
  const View<const void> full = padded(view, 3);
  return {view.data, view.dtype, full.shape, full.strides};
}

}  // namespace qkv::python
