// Checks the tensors, the cache and the options of attention_decode. All of its messages are made here.
#ifndef QKV_SRC_CORE_CHECK_DECODE_H_
#define QKV_SRC_CORE_CHECK_DECODE_H_

#include <cstdint>

#include "qkv/decode.h"
#include "src/core/check_attention.h"
#include "src/core/page_table.h"

namespace qkv {

struct DecodeShape {
  AttentionShape attention;   // Tq is t, Tk what the cache can hold
  std::int64_t appended = 0;  // t, or 0 where no new keys and values are given
};

// That everything fits together, that there is room for what is appended, and that every page that will be read or
// written exists. Reads no block table entry in front of the window or past the length.
Result<DecodeShape> check_decode(const DecodeInputs& inputs, const KeyValueCache& cache,
                                 const AttentionOutputs& outputs, const AttentionOptions& options);

}  // namespace qkv

#endif  // QKV_SRC_CORE_CHECK_DECODE_H_
