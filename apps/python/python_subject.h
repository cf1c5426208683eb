// An implementation in Python as something that the checker can ask.
#ifndef QKV_APPS_PYTHON_PYTHON_SUBJECT_H_
#define QKV_APPS_PYTHON_PYTHON_SUBJECT_H_

#include <nanobind/nanobind.h>

#include <exception>
#include <string>
#include <utility>

#include "src/check/subject.h"

namespace qkv::python {

namespace nb = nanobind;

// `ask` is a function of apps/python/qkv/_check.py: it takes what a problem has, as a dict by the names of
// qkv.attention's arguments (return_lse, d_o and d_lse too), and returns (end, message, answer): end "answered",
// "refused" or "failed", answer a dict of arrays by name. Every call gets arrays of its own; one that it has changed is
// a finding.
class PythonSubject : public check::Subject {
 public:
  // `like` is an array of the type of the problems. Constraint: both outlive this.
  PythonSubject(std::string name, nb::handle ask, nb::handle like) : name_(std::move(name)), ask_(ask), like_(like) {}

  std::string name() const override { return name_; }
  // Takes the GIL. Errors: kCancelled if Python raised what is no answer (KeyboardInterrupt); rethrow() raises it.
  Result<check::SubjectAnswer> run(const check::Case& asked) override;

  // Does nothing if nothing was raised.
  void rethrow() const {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  std::string name_;
  nb::handle ask_, like_;
  std::exception_ptr raised_;
};

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_PYTHON_SUBJECT_H_
