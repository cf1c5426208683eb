// Conversions by Python's own protocols (__index__, __float__, iteration), so that NumPy's scalars are numbers too.
#include "apps/python/arguments.h"

#include <nanobind/stl/string.h>

namespace qkv::python {
namespace {

[[noreturn]] void raise_kind(const std::string& name, nb::handle found, const char* expected) {
  PyErr_Clear();
  const std::string kind = nb::cast<std::string>(found.type().attr("__name__"));
  throw nb::type_error((name + " is a " + kind + "; expected " + expected).c_str());
}

double as_number(const std::string& name, nb::handle value, const char* expected) {
  // Text has no __float__, and True would silently be 1.
  if (nb::isinstance<nb::bool_>(value)) raise_kind(name, value, expected);
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1.0 && PyErr_Occurred() != nullptr) raise_kind(name, value, expected);
  return number;
}

std::int64_t as_integer(const std::string& name, nb::handle value, const char* expected) {
  if (nb::isinstance<nb::bool_>(value)) raise_kind(name, value, expected);
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) raise_kind(name, value, expected);
  const std::int64_t number = PyLong_AsLongLong(index.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();  // OverflowError says it all
  return number;
}

// Calls use(item) for everything in an iterable that is no text.
template <class Use>
void each(const char* name, nb::handle value, const char* expected, Use use) {
  const nb::object iterator = nb::isinstance<nb::str>(value) ? nb::object() : nb::steal(PyObject_GetIter(value.ptr()));
  if (!iterator.is_valid()) raise_kind(name, value, expected);
  while (true) {
    const nb::object item = nb::steal(PyIter_Next(iterator.ptr()));
    if (!item.is_valid()) break;
    use(item);
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
}

}  // namespace

nb::object Arguments::operator[](const char* name) const {
  return named_.contains(name) ? nb::object(named_[name]) : nb::none();
}

bool Arguments::has(const char* name) const { return !(*this)[name].is_none(); }

bool Arguments::flag(const char* name) const {
  if (!has(name)) return false;
  const nb::object value = (*this)[name];
  if (!nb::isinstance<nb::bool_>(value)) raise_kind(name, value, "True or False");
  return nb::cast<bool>(value);
}

std::optional<std::string> Arguments::text(const char* name) const {
  if (!has(name)) return std::nullopt;
  const nb::object value = (*this)[name];
  if (!nb::isinstance<nb::str>(value)) raise_kind(name, value, "a str");
  return nb::cast<std::string>(value);
}

std::optional<double> Arguments::number(const char* name) const {
  if (!has(name)) return std::nullopt;
  return as_number(name, (*this)[name], "a number");
}

std::optional<std::int64_t> Arguments::integer(const char* name) const {
  if (!has(name)) return std::nullopt;
  return as_integer(name, (*this)[name], "a whole number");
}

std::vector<double> Arguments::numbers(const char* name) const {
  std::vector<double> values;
  const char* expected = "a list of numbers";
  if (has(name))
    each(name, (*this)[name], expected, [&](nb::handle item) { values.push_back(as_number(name, item, expected)); });
  return values;
}

std::vector<std::int64_t> Arguments::integers(const char* name) const {
  std::vector<std::int64_t> values;
  const char* expected = "a list of whole numbers";
  if (has(name))
    each(name, (*this)[name], expected, [&](nb::handle item) { values.push_back(as_integer(name, item, expected)); });
  return values;
}

}  // namespace qkv::python
