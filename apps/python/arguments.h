// The keyword arguments of Python's functions, each with a message that names it.
#ifndef QKV_APPS_PYTHON_ARGUMENTS_H_
#define QKV_APPS_PYTHON_ARGUMENTS_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qkv::python {

namespace nb = nanobind;

// Absent keys and None mean "not given". A value of the wrong kind raises TypeError: "scale is a str; expected a
// number".
class Arguments {
 public:
  explicit Arguments(nb::dict named) : named_(std::move(named)) {}

  bool has(const char* name) const;
  nb::object operator[](const char* name) const;  // None if absent

  bool flag(const char* name) const;  // False if absent
  std::optional<std::string> text(const char* name) const;
  std::optional<double> number(const char* name) const;
  std::optional<std::int64_t> integer(const char* name) const;
  // A list, tuple or one-dimensional array; empty if absent.
  std::vector<double> numbers(const char* name) const;
  std::vector<std::int64_t> integers(const char* name) const;

 private:
  nb::dict named_;
};

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_ARGUMENTS_H_
