// The tensors between a layer's steps.
#include "src/layer/layer_steps.h"

namespace qkv {

ForwardTensors::ForwardTensors(const LayerCall& call, Arena& arena) {
  const std::int64_t rows = call.rows();
  if (call.has_norm() || !is_matrix(call.x)) {
    u_made = arena.take(call.compute, {rows, call.shape.channels});
    u = u_made;
  } else {
    u = as_matrix(call.x);
  }
  const LayerKept& kept = call.kept;
  qkv = kept.qkv.is_present() ? as_matrix(kept.qkv) : arena.take(call.type, {rows, call.qkv_width()});
  if (call.has_output())
    o = kept.o.is_present() ? as_matrix(kept.o) : arena.take(call.compute, {rows, call.merged_width()});
}

AttentionInputs attention_inputs(const LayerCall& call, const ForwardTensors& tensors) {
  const HeadMatrices heads(call, tensors.qkv);
  return {split_heads(by_token(call, heads.q), call.shape.query_heads),
          split_heads(by_token(call, heads.k), call.shape.kv_heads),
          split_heads(by_token(call, heads.v), call.shape.kv_heads)};
}

View<void> attention_output(const LayerCall& call, const ForwardTensors& tensors, const View<void>& y) {
  return split_heads(call.has_output() ? by_token(call, tensors.o) : y, call.shape.query_heads);
}

}  // namespace qkv
