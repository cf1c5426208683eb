// The plain call, recognised in a few nanoseconds: small problems are smaller than the tables that check them.
#ifndef QKV_SRC_CORE_GLANCE_H_
#define QKV_SRC_CORE_GLANCE_H_

#include "qkv/attention.h"
#include "src/core/check_attention.h"

namespace qkv {

// Whether a forward call is right beyond doubt: contiguous tensors of one type in one of the two layouts, memory apart,
// no option but the scale and a square causal mask. Fills `shape` then. False means nothing but: ask check_attention()
// and check_outputs(), which accept everything that this accepts (a test draws calls at random).
bool right_at_a_glance(const AttentionInputs& inputs, const AttentionOutputs& outputs, const AttentionOptions& options,
                       AttentionShape& shape);

}  // namespace qkv

#endif  // QKV_SRC_CORE_GLANCE_H_
