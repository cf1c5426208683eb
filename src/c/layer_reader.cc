// The layer's C structs to C++ ones.
#include "src/c/layer_reader.h"

namespace qkv::c {

LayerParameters read_parameters(Reader& read, const qkv_layer_parameters* given) {
  static constexpr qkv_layer_parameters kInitial = QKV_LAYER_PARAMETERS_INIT;
  const qkv_layer_parameters p = read.required("parameters", given, kInitial);
  return {.gamma = read.tensor("gamma", p.gamma),
          .beta = read.tensor("beta", p.beta),
          .wq = read.tensor("wq", p.wq),
          .wk = read.tensor("wk", p.wk),
          .wv = read.tensor("wv", p.wv),
          .bq = read.tensor("bq", p.bq),
          .bk = read.tensor("bk", p.bk),
          .bv = read.tensor("bv", p.bv),
          .wqkv = read.tensor("wqkv", p.wqkv),
          .bqkv = read.tensor("bqkv", p.bqkv),
          .wo = read.tensor("wo", p.wo),
          .bo = read.tensor("bo", p.bo)};
}

LayerGradientViews read_gradients(Reader& read, const qkv_layer_gradients* given) {
  static constexpr qkv_layer_gradients kInitial = QKV_LAYER_GRADIENTS_INIT;
  const qkv_layer_gradients g = read.required("gradients", given, kInitial);
  return {.dx = read.tensor("dx", g.dx),
          .dgamma = read.tensor("dgamma", g.dgamma),
          .dbeta = read.tensor("dbeta", g.dbeta),
          .dwq = read.tensor("dwq", g.dwq),
          .dwk = read.tensor("dwk", g.dwk),
          .dwv = read.tensor("dwv", g.dwv),
          .dbq = read.tensor("dbq", g.dbq),
          .dbk = read.tensor("dbk", g.dbk),
          .dbv = read.tensor("dbv", g.dbv),
          .dwqkv = read.tensor("dwqkv", g.dwqkv),
          .dbqkv = read.tensor("dbqkv", g.dbqkv),
          .dwo = read.tensor("dwo", g.dwo),
          .dbo = read.tensor("dbo", g.dbo)};
}

LayerOptions read_layer_options(Reader& read, const qkv_layer_options* given) {
  static constexpr qkv_layer_options kInitial = QKV_LAYER_OPTIONS_INIT;
  const qkv_layer_options o = read.required("options", given, kInitial);
  LayerOptions options;
  options.query_heads = o.query_heads;
  options.kv_heads = o.kv_heads;
  static_assert(static_cast<int>(Norm::kLayerNorm) == QKV_NORM_LAYER_NORM);
  if (o.norm < QKV_NORM_NONE || o.norm > QKV_NORM_LAYER_NORM)
    read.fail("options.norm is " + std::to_string(o.norm) + ", which is no qkv_norm");
  else
    options.norm = static_cast<Norm>(o.norm);
  options.eps = o.eps;
  options.attention = read.options(o.attention);
  return options;
}

LayerKept read_kept(Reader& read, const qkv_layer_kept* given) {
  static constexpr qkv_layer_kept kInitial = QKV_LAYER_KEPT_INIT;
  const qkv_layer_kept k = read.record("kept", given, kInitial);
  return {read.tensor("kept.qkv", k.qkv), read.tensor("kept.o", k.o), read.tensor("kept.lse", k.lse)};
}

}  // namespace qkv::c
