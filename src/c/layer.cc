// qkv_layer_forward and _backward.
#include "qkv/layer.h"

#include "src/c/last_error.h"
#include "src/c/layer_reader.h"

using qkv::c::guarded;
using qkv::c::Reader;

qkv_status qkv_layer_forward(const qkv_layer_forward_args* args, const qkv_layer_options* options,
                             const qkv_execution* execution, qkv_report* report) {
  return guarded([&]() -> qkv::Status {
    static constexpr qkv_layer_forward_args kInitial = QKV_LAYER_FORWARD_ARGS_INIT;
    Reader read("layer_forward");
    const qkv_layer_forward_args a = read.required("args", args, kInitial);
    const qkv::View<void> x = read.required_tensor("x", a.x);
    const qkv::View<void> y = read.required_tensor("y", a.y);
    const qkv::LayerParameters parameters = qkv::c::read_parameters(read, a.parameters);
    const qkv::LayerKept kept = qkv::c::read_kept(read, a.kept);
    const qkv::LayerOptions what = qkv::c::read_layer_options(read, options);
    read.check_corner(what.attention);
    return read.run(execution, report,
                    [&](const qkv::Execution& how) { return qkv::layer_forward(x, parameters, y, what, how, kept); });
  });
}

qkv_status qkv_layer_backward(const qkv_layer_backward_args* args, const qkv_layer_options* options,
                              const qkv_execution* execution, qkv_report* report) {
  return guarded([&]() -> qkv::Status {
    static constexpr qkv_layer_backward_args kInitial = QKV_LAYER_BACKWARD_ARGS_INIT;
    Reader read("layer_backward");
    const qkv_layer_backward_args a = read.required("args", args, kInitial);
    const qkv::View<void> x = read.required_tensor("x", a.x);
    const qkv::View<void> d_y = read.required_tensor("d_y", a.d_y);
    const qkv::LayerParameters parameters = qkv::c::read_parameters(read, a.parameters);
    const qkv::LayerGradientViews gradients = qkv::c::read_gradients(read, a.gradients);
    const qkv::LayerKept kept = qkv::c::read_kept(read, a.kept);
    const qkv::LayerOptions what = qkv::c::read_layer_options(read, options);
    read.check_corner(what.attention);
    return read.run(execution, report, [&](const qkv::Execution& how) {
      return qkv::layer_backward(x, parameters, d_y, gradients, what, how, kept);
    });
  });
}
