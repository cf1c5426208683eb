// Checks what attention_backward is given beside the forward's inputs and options. All messages are made here.
#ifndef QKV_SRC_CORE_CHECK_ATTENTION_BACKWARD_H_
#define QKV_SRC_CORE_CHECK_ATTENTION_BACKWARD_H_

#include "qkv/attention.h"
#include "qkv/options.h"
#include "qkv/status.h"

namespace qkv {

// That o, lse and their gradients, and the gradients that are asked for, have the right shapes and types, and that
// nothing is written where something else lies. Constraint: check_attention() passed.
Status check_attention_backward(const AttentionBackwardInputs& inputs, const AttentionBackwardOutputs& outputs,
                                const AttentionOptions& options);

}  // namespace qkv

#endif  // QKV_SRC_CORE_CHECK_ATTENTION_BACKWARD_H_
