// qkv.layer_backward: the gradients that were asked for, under their names.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "apps/python/execution.h"
#include "apps/python/gradients.h"
#include "apps/python/layer.h"
#include "apps/python/layer_arguments.h"
#include "src/core/four_axes.h"

namespace qkv::python {
namespace {

// dx, then those of kParameterNames in their order.
constexpr std::array<std::string_view, kParameterNames.size() + 1> kGradients = {
    "dx", "dgamma", "dbeta", "dwq", "dwk", "dwv", "dbq", "dbk", "dbv", "dwqkv", "dbqkv", "dwo", "dbo"};

// dx and the gradient of every parameter that the layer has.
nb::tuple every_gradient(const LayerArguments& call) {
  nb::list names;
  names.append("dx");
  for (std::size_t i = 0; i < kParameterNames.size(); ++i)
    if (call.parameter(i).view.is_present()) names.append(nb::str(kGradients[i + 1].data(), kGradients[i + 1].size()));
  return nb::tuple(names);
}

// The arrays that layer() has kept.
struct Kept {
  std::array<Input, kKeptNames.size()> arrays;
  LayerKept views;

  Kept(nb::handle kept, const LayerArguments& call) {
    if (kept.is_none()) return;
    if (!nb::isinstance<nb::dict>(kept))
      throw nb::type_error(("kept is a " + kind_of(kept) + "; expected the dict that layer returned").c_str());
    const nb::dict entries = nb::borrow<nb::dict>(kept);
    check_names(entries);
    const std::array<View<void>*, kKeptNames.size()> places = {&views.qkv, &views.o, &views.lse};
    constexpr std::array<const char*, kKeptNames.size()> kMessages = {"kept.qkv", "kept.o", "kept.lse"};
    for (std::size_t i = 0; i < kKeptNames.size(); ++i) {
      if (!entries.contains(kKeptNames[i].data())) continue;  // the core asks for all or none
      arrays[i] = Input(kMessages[i], entries[kKeptNames[i].data()]);
      const View<const void>& view = arrays[i].view;  // of what the gradient only reads
      *places[i] = call.with_batch({const_cast<void*>(view.data), view.dtype, view.shape, view.strides});
    }
  }

 private:
  static void check_names(const nb::dict& entries) {
    constexpr const char* kExpected = "; expected the dict that layer returned: qkv, o and lse";
    if (entries.size() == 0) throw nb::value_error(("kept is empty" + std::string(kExpected)).c_str());
    for (const auto& entry : entries) {
      const std::string name = as_text("a key of kept", entry.first);
      if (std::find(kKeptNames.begin(), kKeptNames.end(), name) == kKeptNames.end())
        throw nb::value_error(("kept holds '" + name + "'" + kExpected).c_str());
    }
  }
};

Written make_gradient(std::size_t which, const LayerArguments& call, nb::handle x, nb::handle out) {
  const char* name = kGradients[which].data();
  if (which == 0) return given_or_new(name, out, call.x().dtype, call.shown(call.shape().channels), x);
  const View<const void>& of = call.parameter(which - 1).view;
  if (of.is_present()) return given_or_new(name, out, of.dtype, of.shape, call.object(which - 1));
  return given_or_new(name, out, DType::kF32, {1}, x);  // the core says that the layer has no such parameter
}

}  // namespace

nb::object layer_backward(nb::tuple inputs, nb::tuple results, nb::tuple layer, nb::tuple options) {
  const Options given(options);
  const LayerArguments call(inputs, layer, given);
  const Input d_y("d_y", inputs[2]);
  const bool batched = call.has_batch() || d_y.view.shape.rank() != 2;
  const Kept kept(inputs[3], call);

  const nb::object every = results[0].is_none() ? nb::object(every_gradient(call)) : nb::object(results[0]);
  GradientRequest request(every, results[1], kGradients);
  LayerGradientViews g;
  const std::array<View<void>*, kGradients.size()> places = {
      &g.dx, &g.dgamma, &g.dbeta, &g.dwq, &g.dwk, &g.dwv, &g.dbq, &g.dbk, &g.dbv, &g.dwqkv, &g.dbqkv, &g.dwo, &g.dbo};
  for (const std::size_t which : request.wanted()) {
    Written gradient = make_gradient(which, call, inputs[0], request.out(which));
    *places[which] = which == 0 ? call.with_batch(gradient.view()) : gradient.view();
    request.add(std::move(gradient));
  }
  raise_outcome(run(3 * call.flops(), read_execution(given), [&](const Execution& execution) {
    return layer_backward(call.x(), call.parameters(), batched ? d_y.view : padded(d_y.view, 3), g, call.options(),
                          execution, kept.views)
        .status();
  }));
  return request.take_dict();
}

}  // namespace qkv::python
