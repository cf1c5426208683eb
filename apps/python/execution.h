// One call of the library from Python: on which threads and target, without the GIL, and stopped by Ctrl-C.
#ifndef QKV_APPS_PYTHON_EXECUTION_H_
#define QKV_APPS_PYTHON_EXECUTION_H_

#include "apps/python/arguments.h"
#include "qkv/attention.h"
#include "qkv/options.h"
#include "qkv/status.h"
#include "src/core/function_ref.h"

namespace qkv::python {

// The options `threads` and `target`. Raises ValueError for a target's name that is unknown.
Execution read_execution(const Options& given);

// About the operations of attention's forward pass; 0 for inputs that it refuses.
double flops_of(const AttentionInputs& inputs);

// Calls call(execution). Where that takes long (`flops`, about), the GIL is released meanwhile and signal handlers run
// between tasks. Returns kCancelled if one of them raised, and leaves its exception set; see raise_outcome.
Status run(double flops, Execution execution, FunctionRef<Status(const Execution&)> call);

// Raises what the status says; for kCancelled the signal handler's exception.
void raise_outcome(const Status& status);

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_EXECUTION_H_
