// qkv.attention for Python.
#ifndef QKV_APPS_PYTHON_ATTENTION_H_
#define QKV_APPS_PYTHON_ATTENTION_H_

#include <nanobind/nanobind.h>

namespace qkv::python {

// `named` holds the keyword arguments that apps/python/qkv/__init__.py describes. Returns o, or (o, lse) with
// return_lse. Raises ValueError, TypeError, MemoryError, or what a signal handler raised (KeyboardInterrupt).
nanobind::object attention(nanobind::object q, nanobind::object k, nanobind::object v, nanobind::dict named);

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_ATTENTION_H_
