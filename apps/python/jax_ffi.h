// What qkv.jax needs of C++: handlers that XLA calls, and the check of a call whose arrays have no numbers yet.
#ifndef QKV_APPS_PYTHON_JAX_FFI_H_
#define QKV_APPS_PYTHON_JAX_FFI_H_

#include <nanobind/nanobind.h>

namespace qkv::python {

namespace nb = nanobind;

// {"qkv_attention_forward": capsule, "qkv_attention_backward": capsule}; empty where the module was built without
// jaxlib's headers. What they read is in apps/python/qkv/jax.py.
nb::dict jax_handlers();

// Raises what attention() would for arrays of these shapes and types; no element is read.
void check_shapes(nb::tuple inputs, nb::tuple options);

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_JAX_FFI_H_
