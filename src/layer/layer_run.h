// The way from x to y that the forward pass and a decode step share.
#ifndef QKV_SRC_LAYER_LAYER_RUN_H_
#define QKV_SRC_LAYER_LAYER_RUN_H_

#include "qkv/attention.h"
#include "src/core/function_ref.h"
#include "src/layer/layer_call.h"

namespace qkv {

// Attention of the projected heads [B,H,T,D], in one of its forms, into o [B,Hq,T,Dv].
using Attend = FunctionRef<Result<Report>(const AttentionInputs& heads, View<void> o, const Execution& execution)>;

// y = merge(attend(split(norm(x) w + b))) wo + bo. Constraint: y is checked.
Result<Report> run_layer(const LayerCall& call, const View<void>& y, const Execution& execution, Attend attend);

}  // namespace qkv

#endif  // QKV_SRC_LAYER_LAYER_RUN_H_
