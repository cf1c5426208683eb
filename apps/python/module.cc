// The extension module qkv._core: what needs C++; apps/python/qkv/__init__.py is what users import.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <vector>

#include "apps/python/arrays.h"
#include "apps/python/attention.h"
#include "apps/python/check.h"
#include "apps/python/jax_ffi.h"
#include "apps/python/layer.h"
#include "apps/python/map.h"
#include "apps/python/numpy_arrays.h"
#include "apps/python/openmp.h"
#include "apps/python/survey.h"
#include "apps/python/trace.h"
#include "qkv/explain.h"
#include "qkv/options.h"
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
  const Result<int> threads = resolve_threads("info", 0);
  raise_if_error(threads.status());
  std::vector<std::string> targets;
  for (Target target : available_targets()) targets.emplace_back(to_string(target));
  nb::dict entries;
  entries["version"] = QKV_VERSION;
  entries["targets"] = targets;
  entries["target"] = std::string(to_string(*used));
  entries["threads"] = *threads;
  return entries;
}

}  // namespace
}  // namespace qkv::python

NB_MODULE(_core, module) {
  module.doc() = "The C++ part of qkv.";
  module.attr("__version__") = QKV_VERSION;
  qkv::python::load_numpy();
  module.def("attention", &qkv::python::attention);
  module.def("attention_backward", &qkv::python::attention_backward);
  module.def("attention_decode", &qkv::python::attention_decode);
  module.def("layer", &qkv::python::layer);
  module.def("layer_backward", &qkv::python::layer_backward);
  module.def("layer_decode", &qkv::python::layer_decode);
  module.def("layer_norm", &qkv::python::layer_norm);
  module.def("trace", &qkv::python::trace);
  module.def("map_overview", &qkv::python::map_overview);
  module.def("map_tile", &qkv::python::map_tile);
  module.def("map_row", &qkv::python::map_row);
  module.def("survey", &qkv::python::survey);
  module.def("statistics", &qkv::python::statistics);
  module.def("check", &qkv::python::check);
  module.def("report_page", &qkv::python::report_page);
  module.def("alibi_slopes", &qkv::alibi_slopes);
  module.def("explain", &qkv::python::explain_text);
  module.def("jax_handlers", &qkv::python::jax_handlers);
  module.def("check_shapes", &qkv::python::check_shapes);
  module.def("info", &qkv::python::info);
  module.def("use_openmp", &qkv::python::use_openmp);
}
