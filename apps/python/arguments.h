// The arguments of Python's functions that are no arrays, each with a message that names it.
#ifndef QKV_APPS_PYTHON_ARGUMENTS_H_
#define QKV_APPS_PYTHON_ARGUMENTS_H_

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::python {

namespace nb = nanobind;

std::string kind_of(nb::handle object);  // the name of its type, for messages

// A value of the wrong kind raises TypeError: "scale is a str; expected a number". NumPy's scalars are numbers and
// flags too. A number of more than 64 bits raises ValueError.
bool as_flag(const char* name, nb::handle value);
std::string as_text(const char* name, nb::handle value);
double as_number(const char* name, nb::handle value);
std::int64_t as_integer(const char* name, nb::handle value);
// A list, tuple or one-dimensional array.
std::vector<double> as_numbers(const char* name, nb::handle value);
std::vector<std::int64_t> as_integers(const char* name, nb::handle value);
std::vector<std::string> as_texts(const char* name, nb::handle value);

// The options that every function takes, in the order in which apps/python/qkv/ passes them: as one tuple, since a
// dictionary of them costs more to make and to read than a small call.
inline constexpr std::string_view kOptionNames[] = {
    "scale",       "softcap",      "causal",       "corner", "offset", "window", "keep",    "bias",  "key_mask",
    "key_lengths", "cu_seqlens_q", "cu_seqlens_k", "slopes", "sinks",  "layout", "threads", "target"};

// One of those names; another one does not compile.
class OptionName {
 public:
  consteval OptionName(const char* name) : text_(name) {  // NOLINT(google-explicit-constructor): reads as a key
    while (kOptionNames[index_] != std::string_view(name)) ++index_;
  }
  const char* text() const { return text_; }
  std::size_t index() const { return index_; }

 private:
  const char* text_;
  std::size_t index_ = 0;
};

// None means "not given".
class Options {
 public:
  // Constraint: as many values as kOptionNames; they outlive this.
  explicit Options(nb::tuple values) : values_(values) {}

  nb::handle operator[](OptionName name) const;
  bool has(OptionName name) const { return !(*this)[name].is_none(); }

  bool flag(OptionName name) const { return has(name) && as_flag(name.text(), (*this)[name]); }  // False if not given
  std::optional<std::string> text(OptionName name) const { return given(name, as_text); }
  std::optional<double> number(OptionName name) const { return given(name, as_number); }
  std::optional<std::int64_t> integer(OptionName name) const { return given(name, as_integer); }
  // Empty if not given.
  std::vector<double> numbers(OptionName name) const;
  std::vector<std::int64_t> integers(OptionName name) const;

 private:
  template <class T>
  std::optional<T> given(OptionName name, T (*convert)(const char*, nb::handle)) const {
    if (!has(name)) return std::nullopt;
    return convert(name.text(), (*this)[name]);
  }
  nb::handle values_;
};

}  // namespace qkv::python

#endif  // QKV_APPS_PYTHON_ARGUMENTS_H_
