// qkv.check: the run of src/check with a function of Python's for its subject.
#include "apps/python/check.h"

#include <nanobind/stl/string.h>

#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include "apps/python/arguments.h"
#include "apps/python/arrays.h"
#include "apps/python/python_subject.h"
#include "apps/server/embedded_page.h"
#include "src/check/check.h"
#include "src/check/report.h"

namespace qkv::python {
namespace {

std::vector<check::NamedMistake> read_accepted(nb::handle names) {
  std::vector<check::NamedMistake> accepted;
  for (const std::string& name : as_texts("accept", names)) {
    const check::NamedMistake* found = check::find_mistake(name);
    if (found == nullptr || !found->is_policy) {
      std::string known;
      for (const check::NamedMistake& one : check::all_mistakes())
        if (one.is_policy) known += (known.empty() ? "" : ", ") + std::string(one.name);
      throw nb::value_error(("accept has '" + name + "'; expected some of " + known).c_str());
    }
    accepted.push_back(*found);
  }
  return accepted;
}

Operation read_operation(const std::string& name) {
  for (const Operation one : {Operation::kAttention, Operation::kDecode, Operation::kLayer, Operation::kLayerNorm})
    if (name == to_string(one)) return one;
  throw nb::value_error(
      ("operation '" + name + "' is unknown; expected attention, decode, layer or layernorm").c_str());
}

// Calls Python's `function` and keeps what it raises, because the library is not made to be unwound.
class PythonProgress {
 public:
  explicit PythonProgress(nb::handle function) : function_(function) {}

  bool operator()(std::int64_t done, std::int64_t total) {
    const nb::gil_scoped_acquire gil;
    try {
      if (!function_.is_none()) function_(done, total);
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      return true;
    } catch (const nb::python_error&) {
      raised_ = std::current_exception();
      return false;
    }
  }

  // Whether nobody has pressed Ctrl-C, without a call of the function.
  bool goes_on() {
    const nb::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      return true;
    } catch (const nb::python_error&) {
      raised_ = std::current_exception();
      return false;
    }
  }

  void rethrow() const {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  nb::handle function_;
  std::exception_ptr raised_;
};

}  // namespace

std::string check(std::string name, nb::object ask, nb::tuple options) {
  check::CheckOptions read;
  read.probes.operation = read_operation(as_text("operation", options[6]));
  read.probes.dtype = Input("dtype", options[0]).view.dtype;
  read.probes.seed = static_cast<std::uint64_t>(as_integer("seed", options[1]));
  read.probes.backward = as_flag("backward", options[2]);
  read.probes.quick = as_flag("quick", options[3]);
  read.accepted = read_accepted(options[4]);
  PythonProgress progress(options[5]);
  read.progress = [&](std::int64_t done, std::int64_t total) { return progress(done, total); };
  read.keep_going = [&] { return progress.goes_on(); };
  PythonSubject subject(std::move(name), ask, options[0]);
  const Result<check::CheckReport> report = [&] {
    const nb::gil_scoped_release no_gil;
    return check::check(subject, read);
  }();
  subject.rethrow();
  progress.rethrow();
  raise_if_error(report.status());
  return to_json(*report);
}

std::string report_page(const std::string& document) {
  if (server::embedded_report().empty())
    throw std::runtime_error(
        "this qkv was built without the page of a report; install nodejs and npm and build it again (pip install .), "
        "or "
        "use to_json()");
  Result<std::string> page = check::to_html(server::embedded_report(), document);
  raise_if_error(page.status());
  return std::move(page).value();
}

}  // namespace qkv::python
