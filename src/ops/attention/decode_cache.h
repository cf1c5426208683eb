// Writing new keys and values into a cache.
#ifndef QKV_SRC_OPS_ATTENTION_DECODE_CACHE_H_
#define QKV_SRC_OPS_ATTENTION_DECODE_CACHE_H_

#include "qkv/decode.h"

namespace qkv {

// Copies inputs.k and inputs.v behind the tokens that are there; the lengths stay as they are. Constraint: checked.
void append_to_cache(const DecodeInputs& inputs, const KeyValueCache& cache);

}  // namespace qkv

#endif  // QKV_SRC_OPS_ATTENTION_DECODE_CACHE_H_
