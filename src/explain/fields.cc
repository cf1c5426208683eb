// Typed access to the fields of a request.
#include "src/explain/fields.h"

#include <limits>

#include "src/core/did_you_mean.h"
#include "src/core/status_macros.h"
#include "src/explain/numbers.h"

namespace qkv {
namespace {

const Json kNull;

bool read_integer(const Json& value, std::int64_t& out) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return false;
  out = value.get<std::int64_t>();
  return true;
}

std::string entry(std::string_view name, std::size_t index) {
  return std::string(name) + "[" + std::to_string(index) + "]";
}

}  // namespace

Status wrong_kind(std::string_view path, const Json& found, std::string_view expected) {
  std::string text(kind_of(found));
  if (found.is_string()) text = quote(found.get_ref<const std::string&>());
  if (found.is_number() || found.is_boolean()) text = found.dump();
  return invalid_argument("explain: " + std::string(path) + " is " + text + "; expected " + std::string(expected));
}

bool Fields::has(std::string_view name) const { return !(*this)[name].is_null(); }

const Json& Fields::operator[](std::string_view name) const {
  const auto found = object_.find(std::string(name));
  return found == object_.end() ? kNull : *found;
}

Status Fields::read(std::string_view name, bool& out) const {
  if (!has(name)) return {};
  const Json& value = (*this)[name];
  if (!value.is_boolean()) return wrong_kind(name, value, "true or false");
  out = value.get<bool>();
  return {};
}

Status Fields::read(std::string_view name, std::int64_t& out, std::int64_t least) const {
  if (!has(name)) return {};
  std::int64_t value = 0;
  if (!read_integer((*this)[name], value) || value < least)
    return wrong_kind(name, (*this)[name], "a whole number of at least " + std::to_string(least));
  out = value;
  return {};
}

Status Fields::read(std::string_view name, double& out) const {
  if (!has(name)) return {};
  if (!(*this)[name].is_number()) return wrong_kind(name, (*this)[name], "a number");
  out = (*this)[name].get<double>();
  return {};
}

Status Fields::read(std::string_view name, std::string& out) const {
  if (!has(name)) return {};
  if (!(*this)[name].is_string()) return wrong_kind(name, (*this)[name], "a text");
  out = (*this)[name].get<std::string>();
  return {};
}

Status Fields::read(std::string_view name, std::vector<std::int64_t>& out) const {
  if (!has(name)) return {};
  const Json& list = (*this)[name];
  if (!list.is_array()) return wrong_kind(name, list, "a list of whole numbers");
  out.assign(list.size(), 0);
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!read_integer(list[i], out[i])) return wrong_kind(entry(name, i), list[i], "a whole number");
  return {};
}

Status Fields::read(std::string_view name, std::vector<double>& out) const {
  if (!has(name)) return {};
  const Json& list = (*this)[name];
  if (!list.is_array()) return wrong_kind(name, list, "a list of numbers");
  out.clear();
  for (std::size_t i = 0; i < list.size(); ++i) {
    QKV_ASSIGN_OR_RETURN(const double value, read_number(list[i], entry(name, i)));
    out.push_back(value);
  }
  return {};
}

Status Fields::read(std::string_view name, std::vector<std::string>& out) const {
  if (!has(name)) return {};
  const Json& list = (*this)[name];
  if (!list.is_array()) return wrong_kind(name, list, "a list of texts");
  out.clear();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_string()) return wrong_kind(entry(name, i), list[i], "a text");
    out.push_back(list[i].get<std::string>());
  }
  return {};
}

Status Fields::check_known(const std::vector<std::string>& known) const {
  for (const auto& [name, value] : object_.items()) {
    bool found = false;
    for (const std::string& candidate : known) found = found || candidate == name;
    if (!found) return invalid_argument("explain: there is no field " + quote(name) + did_you_mean(name, known));
  }
  return {};
}

}  // namespace qkv
