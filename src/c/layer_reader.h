// Reads the structs of a layer.
#ifndef QKV_SRC_C_LAYER_READER_H_
#define QKV_SRC_C_LAYER_READER_H_

#include "qkv/c_layer.h"
#include "qkv/layer.h"
#include "src/c/reader.h"

namespace qkv::c {

LayerParameters read_parameters(Reader& read, const qkv_layer_parameters* given);   // not null
LayerGradientViews read_gradients(Reader& read, const qkv_layer_gradients* given);  // not null
LayerOptions read_layer_options(Reader& read,
                                const qkv_layer_options* given);  // not null: a layer's heads have no default
LayerKept read_kept(Reader& read, const qkv_layer_kept* given);   // null: nothing is kept

}  // namespace qkv::c

#endif  // QKV_SRC_C_LAYER_READER_H_
