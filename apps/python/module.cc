// The extension module qkv._core: what needs C++; apps/python/qkv/__init__.py is what users import.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <vector>

#include "apps/python/arrays.h"
#include "apps/python/attention.h"
#include "qkv/explain.h"
#include "qkv/target.h"
#include "qkv/version.h"
#include "src/core/parallel.h"

namespace qkv::python {
namespace {

std::string explain_text(const std::string& request) {
  Result<std::string> document = [&] {
    const nb::gil_scoped_release no_gil;
    return explain(request);
  }();
  raise_if_error(document.status());
  return std::move(document).value();
}

nb::dict info() {
  const Result<Target> used = resolve_target(Target::kAuto);
  raise_if_error(used.status());
  std::vector<std::string> targets;
  for (Target target : available_targets()) targets.emplace_back(to_string(target));
  nb::dict entries;
  entries["version"] = QKV_VERSION;
  entries["targets"] = targets;
  entries["target"] = std::string(to_string(*used));
  entries["threads"] = resolve_threads(0);
  return entries;
}

}  // namespace
}  // namespace qkv::python

NB_MODULE(_core, module) {
  module.doc() = "The C++ part of qkv.";
  module.attr("__version__") = QKV_VERSION;
  module.def("attention", &qkv::python::attention);
  module.def("explain", &qkv::python::explain_text);
  module.def("info", &qkv::python::info);
}
