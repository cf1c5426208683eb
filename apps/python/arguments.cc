// Conversions by Python's own protocols (__index__, __float__, iteration), so that NumPy's scalars are numbers too.
#include "apps/python/arguments.h"

#include <nanobind/stl/string.h>

#include <iterator>

#include "apps/python/numpy_arrays.h"

namespace qkv::python {
namespace {

// An argument, or with an index one of the things in it. Its text is made when there is something to complain about.
struct Place {
  const char* name;
  std::ptrdiff_t index = -1;

  std::string text() const { return index < 0 ? name : name + ("[" + std::to_string(index) + "]"); }
};

[[noreturn]] void raise_kind(const Place& place, nb::handle found, const char* expected) {
  PyErr_Clear();
  throw nb::type_error((place.text() + " is a " + kind_of(found) + "; expected " + expected).c_str());
}

[[noreturn]] void raise_size(const Place& place) {
  PyErr_Clear();
  throw nb::value_error((place.text() + " does not fit into 64 bits").c_str());
}

bool is_flag(nb::handle value) { return PyBool_Check(value.ptr()) || is_numpy_flag(value); }

double number_of(const Place& place, nb::handle value) {
  // Text has no __float__, and True would silently be 1.
  if (is_flag(value)) raise_kind(place, value, "a number");
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1.0 && PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError) != 0) raise_size(place);
    raise_kind(place, value, "a number");
  }
  return number;
}

std::int64_t integer_of(const Place& place, nb::handle value) {
  if (is_flag(value)) raise_kind(place, value, "a whole number");
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) raise_kind(place, value, "a whole number");
  const std::int64_t number = PyLong_AsLongLong(index.ptr());
  if (number == -1 && PyErr_Occurred() != nullptr) raise_size(place);
  return number;
}

std::string text_of(const Place& place, nb::handle value) {
  if (!PyUnicode_Check(value.ptr())) raise_kind(place, value, "a str");
  return nb::cast<std::string>(value);
}

// What convert(place, item) makes of everything in an iterable that is no text.
template <class T>
std::vector<T> each(const char* name, nb::handle value, const char* expected, T (*convert)(const Place&, nb::handle)) {
  const nb::object iterator = PyUnicode_Check(value.ptr()) ? nb::object() : nb::steal(PyObject_GetIter(value.ptr()));
  if (!iterator.is_valid()) raise_kind({name}, value, expected);
  std::vector<T> values;
  while (true) {
    const nb::object item = nb::steal(PyIter_Next(iterator.ptr()));
    if (!item.is_valid()) break;
    values.push_back(convert({name, std::ssize(values)}, item));
  }
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return values;
}

}  // namespace

std::string kind_of(nb::handle object) { return nb::cast<std::string>(object.type().attr("__name__")); }

bool as_flag(const char* name, nb::handle value) {
  if (!is_flag(value)) raise_kind({name}, value, "True or False");
  return PyObject_IsTrue(value.ptr()) == 1;
}

std::string as_text(const char* name, nb::handle value) { return text_of({name}, value); }

double as_number(const char* name, nb::handle value) { return number_of({name}, value); }

std::int64_t as_integer(const char* name, nb::handle value) { return integer_of({name}, value); }

std::vector<double> as_numbers(const char* name, nb::handle value) {
  return each(name, value, "a list of numbers", number_of);
}

std::vector<std::int64_t> as_integers(const char* name, nb::handle value) {
  return each(name, value, "a list of whole numbers", integer_of);
}

std::vector<std::string> as_texts(const char* name, nb::handle value) {
  return each(name, value, "a list of str", text_of);
}

nb::handle Options::operator[](OptionName name) const {
  return NB_TUPLE_GET_ITEM(values_.ptr(), static_cast<Py_ssize_t>(name.index()));
}

std::vector<double> Options::numbers(OptionName name) const {
  return has(name) ? as_numbers(name.text(), (*this)[name]) : std::vector<double>{};
}

std::vector<std::int64_t> Options::integers(OptionName name) const {
  return has(name) ? as_integers(name.text(), (*this)[name]) : std::vector<std::int64_t>{};
}

}  // namespace qkv::python
