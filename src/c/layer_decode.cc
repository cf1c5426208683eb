// qkv_layer_decode.
#include "src/c/last_error.h"
#include "src/c/layer_reader.h"

qkv_status qkv_layer_decode(const qkv_layer_decode_args* args, const qkv_layer_options* options,
                            const qkv_execution* execution, qkv_report* report) {
  return qkv::c::guarded([&]() -> qkv::Status {
    static constexpr qkv_layer_decode_args kInitial = QKV_LAYER_DECODE_ARGS_INIT;
    qkv::c::Reader read("layer_decode");
    const qkv_layer_decode_args a = read.required("args", args, kInitial);
    const qkv::View<void> x = read.required_tensor("x", a.x);
    const qkv::View<void> y = read.required_tensor("y", a.y);
    const qkv::LayerParameters parameters = qkv::c::read_parameters(read, a.parameters);
    const qkv::KeyValueCache cache = read.cache(a.cache);
    const qkv::LayerOptions what = qkv::c::read_layer_options(read, options);
    return read.run(execution, report,
                    [&](const qkv::Execution& how) { return qkv::layer_decode(x, parameters, cache, y, what, how); });
  });
}
