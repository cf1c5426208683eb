// The checker, for Python.
#ifndef QKV_APPS_PYTHON_CHECK_H_
#define QKV_APPS_PYTHON_CHECK_H_

#include <nanobind/nanobind.h>

#include <string>

namespace qkv::python {

namespace nb = nanobind;

// apps/python/qkv/_check.py describes the options, (like, seed, backward, quick, accept, progress,
// operation). `like` is an array
// of the element type; `accept` names policies; `progress` is None or a function of (done, total). Returns the report
// as JSON. Raises ValueError for an unknown policy, and what `progress` and signal handlers raise.
std::string check(std::string name, nb::object ask, nb::tuple options);

// A report, as check() returns it, as a page in one file. Raises RuntimeError in a module that was built without the
// page.
std::string report_page(const std::string& document);

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_CHECK_H_
