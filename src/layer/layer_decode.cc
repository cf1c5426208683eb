// layer_decode: the forward layer around attention_decode.
#include "qkv/layer.h"
#include "src/core/status_macros.h"
#include "src/layer/layer_call.h"
#include "src/layer/layer_run.h"

namespace qkv {
namespace {

const LayerKept kNothingKept;

}  // namespace

Result<Report> layer_decode(View<const void> x, const LayerParameters& parameters, const KeyValueCache& cache,
                            View<void> y, const LayerOptions& options, const Execution& execution) {
  QKV_ASSIGN_OR_RETURN(const LayerCall call, make_layer_call(x, parameters, options, kNothingKept, execution));
  QKV_RETURN_IF_ERROR(check_layer_output(call.shape, x, parameters, options, y, kNothingKept));
  QKV_RETURN_IF_ERROR(check_layer_cache(x, parameters, cache, y));
  return run_layer(call, y, execution, [&](const AttentionInputs& heads, View<void> o, const Execution& lent) {
    return attention_decode({heads.q, heads.k, heads.v}, cache, {o, {}}, options.attention, lent);
  });
}

}  // namespace qkv
