// qkv.attention_backward: the gradients that were asked for, each in the axes of what it is the gradient of.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "apps/python/arguments.h"
#include "apps/python/arrays.h"
#include "apps/python/attention.h"
#include "apps/python/attention_options.h"
#include "apps/python/execution.h"
#include "apps/python/gradients.h"
#include "qkv/attention.h"
#include "src/core/check_attention.h"
#include "src/core/four_axes.h"

namespace qkv::python {
namespace {

constexpr std::array<const char*, 7> kInputs = {"q", "k", "v", "o", "lse", "d_o", "d_lse"};
constexpr std::array<std::string_view, 5> kGradients = {"dq", "dk", "dv", "dbias", "dsinks"};

// What Python gave, in its own axes, and the same as attention_backward reads it.
struct Read {
  std::array<Input, kInputs.size()> given;
  AttentionBackwardInputs views;

  Read(nb::tuple inputs, Layout layout) {
    for (std::size_t i = 0; i < kInputs.size(); ++i)
      given[i] = i == 6 ? Input::optional(kInputs[i], inputs[i]) : Input(kInputs[i], inputs[i]);
    const auto four = [&](std::size_t i) { return with_four_axes(given[i].view, layout); };
    const auto three = [&](std::size_t i) {
      const View<const void>& view = given[i].view;
      return view.is_present() && given[0].view.shape.rank() < kMaxRank ? padded(view, 3) : view;
    };
    views = {four(0), four(1), four(2), four(3), three(4), four(5), three(6)};
  }
};

// A gradient has the shape and the type of q, k, v or bias; that of the sinks is a number a head.
Written make_gradient(std::size_t which, const Read& read, const AttentionOptions& options, nb::tuple inputs,
                      nb::handle bias, nb::handle out) {
  const char* name = kGradients[which].data();
  const DType type = read.views.q.dtype;
  if (which < 3) {
    const View<const void>& of = read.given[which].view;
    return given_or_new(name, out, of.dtype, of.shape, inputs[which]);
  }
  const bool of_bias = which == 3 && options.bias.is_present();
  if (of_bias) return given_or_new(name, out, options.bias.dtype, options.bias.shape, bias);
  const auto heads = static_cast<std::int64_t>(options.sinks.size());
  return given_or_new(name, out, type == DType::kF64 ? DType::kF64 : DType::kF32, {heads}, inputs[0]);
}

double flops_of(const AttentionBackwardInputs& inputs) {
  double flops = 10;
  for (int axis = 0; axis < inputs.q.shape.rank(); ++axis) flops *= static_cast<double>(inputs.q.shape[axis]);
  return inputs.k.shape.rank() == kMaxRank ? flops * static_cast<double>(inputs.k.shape[2]) : 0;
}

}  // namespace

nb::object attention_backward(nb::tuple inputs, nb::tuple results, nb::tuple options) {
  const Options given(options);
  const Layout layout = read_layout(given);
  const Read read(inputs, layout);
  const ReadOptions limits(given, query_of(read.given[0].view, layout));
  const AttentionInputs forward{read.views.q, read.views.k, read.views.v};
  raise_if_error(check_attention(forward, limits.get(), TypeRule::kSameType).status());

  GradientRequest request(results[0], results[1], kGradients);
  AttentionBackwardOutputs outputs;
  const std::array<View<void>*, kGradients.size()> places = {&outputs.dq, &outputs.dk, &outputs.dv, &outputs.dbias,
                                                             &outputs.dsinks};
  for (const std::size_t which : request.wanted()) {
    Written gradient = make_gradient(which, read, limits.get(), inputs, given["bias"], request.out(which));
    *places[which] = which < 3 ? with_four_axes(gradient.view(), layout) : gradient.view();
    request.add(std::move(gradient));
  }
  raise_outcome(run(flops_of(read.views), read_execution(given), [&](const Execution& execution) {
    return attention_backward(read.views, outputs, limits.get(), execution).status();
  }));
  return request.take_tuple();
}

}  // namespace qkv::python
