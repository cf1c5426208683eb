// qkv.attention, its gradient, and attention against a cache, for Python.
#ifndef QKV_APPS_PYTHON_ATTENTION_H_
#define QKV_APPS_PYTHON_ATTENTION_H_

#include <nanobind/nanobind.h>

namespace qkv::python {

namespace nb = nanobind;

// apps/python/qkv/_attention.py describes what the tuples hold; `options` is that of kOptionNames. All raise
// ValueError, TypeError, MemoryError, or what a signal handler raised (KeyboardInterrupt).

// inputs (q, k, v), results (out, return_lse). Returns o, or (o, lse) with return_lse.
nb::object attention(nb::tuple inputs, nb::tuple results, nb::tuple options);

// inputs (q, k, v, o, lse, d_o, d_lse), results (gradients, out). Returns a tuple of what `gradients` names, in its
// order.
nb::object attention_backward(nb::tuple inputs, nb::tuple results, nb::tuple options);

// inputs (q, k, v), cache (k, v, lengths, block_table), results (out, return_lse). Writes the cache's arrays. Returns
// o, or (o, lse) with return_lse.
nb::object attention_decode(nb::tuple inputs, nb::tuple cache, nb::tuple results, nb::tuple options);

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_ATTENTION_H_
