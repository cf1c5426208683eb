// qkv.layer, its gradient, and the layer around a cache, for Python.
#ifndef QKV_APPS_PYTHON_LAYER_H_
#define QKV_APPS_PYTHON_LAYER_H_

#include <nanobind/nanobind.h>

namespace qkv::python {

namespace nb = nanobind;

// apps/python/qkv/_layer.py describes what the tuples hold; `layer` is (query_heads, kv_heads, norm, eps), `options`
// that of kOptionNames. All raise as attention() does.

// inputs (x, parameters), results (out, return_kept). Returns y, or (y, kept) with return_kept; kept is a dict of what
// layer_backward would compute again.
nb::object layer(nb::tuple inputs, nb::tuple results, nb::tuple layer, nb::tuple options);

// inputs (x, parameters, d_y, kept), kept None or that dict; results (gradients, out), gradients None for dx and that
// of every parameter. Returns a dict from the names of the gradients to arrays.
nb::object layer_backward(nb::tuple inputs, nb::tuple results, nb::tuple layer, nb::tuple options);

// inputs (x, parameters, cache), cache (k, v, lengths, block_table); results (out,). Writes the cache's arrays. Returns
// y.
nb::object layer_decode(nb::tuple inputs, nb::tuple results, nb::tuple layer, nb::tuple options);

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_LAYER_H_
