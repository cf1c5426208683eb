// Writing a Trace: how the reference records a stage.
#ifndef QKV_SRC_CORE_TRACE_H_
#define QKV_SRC_CORE_TRACE_H_

#include "qkv/reference.h"
#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv {

// Appends `stage` with values of that shape, all zero, and returns their memory, which stays where it is while the
// trace lives. Errors: as Tensor::zeros.
Result<double*> add_stage(Trace& trace, Stage stage, Dims shape);

// Appends `stage` with a float64 copy of `values`. Errors: as converted().
Status add_stage(Trace& trace, Stage stage, View<const void> values);

// Moves the stages of `from` to the end of `to`, except those whose names `to` has already.
void append_stages(Trace& to, Trace from);

}  // namespace qkv

#endif  // QKV_SRC_CORE_TRACE_H_
