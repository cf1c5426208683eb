// qkv.layer and qkv.layer_decode.
#include "apps/python/layer.h"

#include "apps/python/cache.h"
#include "apps/python/execution.h"
#include "apps/python/layer_arguments.h"

namespace qkv::python {
namespace {

// New arrays for what the gradient would compute again.
struct Kept {
  Written qkv, o, lse;
  LayerKept views;

  Kept() = default;
  Kept(const LayerArguments& call, nb::handle like) {
    const LayerShape& s = call.shape();
    const DType type = call.x().dtype;
    const DType wide = type == DType::kF64 ? DType::kF64 : DType::kF32;
    const std::int64_t keys = s.kv_heads * (s.width + s.value_width);
    qkv = Written(type, {s.batch, s.length, s.query_heads * s.width + keys}, like);
    lse = Written(wide, {s.batch, s.query_heads, s.length}, like);
    views = {qkv.view(), {}, lse.view()};
    if (!call.parameters().wo.is_present()) return;  // y holds what o would
    o = Written(wide, {s.batch, s.length, s.query_heads * s.value_width}, like);
    views.o = o.view();
  }
  nb::dict take(nb::handle y) {
    nb::dict entries;
    entries["qkv"] = qkv.take();
    entries["o"] = views.o.is_present() ? o.take() : nb::borrow(y);
    entries["lse"] = lse.take();
    return entries;
  }
};

Written make_y(const LayerArguments& call, nb::handle out, nb::handle like) {
  return given_or_new("out", out, call.x().dtype, call.shown(call.shape().out_channels), like);
}

}  // namespace

nb::object layer(nb::tuple inputs, nb::tuple results, nb::tuple layer, nb::tuple options) {
  const Options given(options);
  const LayerArguments call(inputs, layer, given);
  const nb::handle x = inputs[0];
  Written y = make_y(call, results[0], x);
  const bool keep = as_flag("return_kept", results[1]);
  Kept kept = keep ? Kept(call, x) : Kept();
  raise_outcome(run(call.flops(), read_execution(given), [&](const Execution& execution) {
    return layer_forward(call.x(), call.parameters(), call.with_batch(y.view()), call.options(), execution, kept.views)
        .status();
  }));
  nb::object result = y.take();
  if (!keep) return result;
  nb::dict entries = kept.take(result);
  return nb::make_tuple(std::move(result), std::move(entries));
}

nb::object layer_decode(nb::tuple inputs, nb::tuple results, nb::tuple layer, nb::tuple options) {
  const Options given(options);
  const LayerArguments call(inputs, layer, given);
  Cache written(nb::borrow<nb::tuple>(inputs[2]), read_layout(given));
  Written y = make_y(call, results[0], inputs[0]);
  const Status status = run(call.flops() + written.flops(call.shape().query_heads * call.shape().length),
                            read_execution(given), [&](const Execution& execution) {
                              return layer_decode(call.x(), call.parameters(), written.view(),
                                                  call.with_batch(y.view()), call.options(), execution)
                                  .status();
                            });
  written.write_lengths();
  raise_outcome(status);
  return y.take();
}

}  // namespace qkv::python
