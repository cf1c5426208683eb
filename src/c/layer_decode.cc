// qkv_layer_decode.
#include "src/c/last_error.h"
#include "src/c/layer_reader.h"
#include "src/core/status_macros.h"

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
    const qkv::Execution how = read.execution(execution);
    read.check_report(report);
    QKV_RETURN_IF_ERROR(read.status());
    QKV_ASSIGN_OR_RETURN(const qkv::Report done, qkv::layer_decode(x, parameters, cache, y, what, how));
    qkv::c::write_report(done, report);
    return {};
  });
}
