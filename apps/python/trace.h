// Single steps for Python: every stage of attention, and LayerNorm alone.
#ifndef QKV_APPS_PYTHON_TRACE_H_
#define QKV_APPS_PYTHON_TRACE_H_

#include <nanobind/nanobind.h>

namespace qkv::python {

namespace nb = nanobind;

// inputs (q, k, v), `options` that of kOptionNames. Returns a dict from the names of the stages (qkv/reference.h) to
// float64 arrays of NumPy, in the order in which they are made. Raises as attention() does.
nb::dict trace(nb::tuple inputs, nb::tuple options);

// inputs (x, gamma, beta), gamma and beta None or arrays. Returns u of x's shape. Raises as attention() does.
nb::object layer_norm(nb::tuple inputs, double eps);

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_TRACE_H_
