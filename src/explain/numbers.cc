// Nested lists to arrays and back.
#include "src/explain/numbers.h"

#include <cmath>
#include <limits>

#include "src/core/did_you_mean.h"
#include "src/core/shortest.h"
#include "src/core/status_macros.h"

namespace qkv {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Status not_a_number(const Json& value, const std::string& path) {
  const std::string found =
      value.is_string() ? quote(value.get_ref<const std::string&>()) : std::string(kind_of(value));
  return invalid_argument("explain: " + path + " is " + found + "; expected a number");
}

std::string indexed(const std::string& path, std::size_t index) { return path + "[" + std::to_string(index) + "]"; }

// The shape by the first entry of every level; whether the others agree is seen while reading.
Result<Dims> measure(const Json& value, const std::string& path) {
  Dims shape;
  const Json* level = &value;
  while (level->is_array()) {
    if (shape.rank() == kMaxRank)
      return invalid_argument("explain: " + path + " has more than 4 axes; the most is [B,H,T,D]");
    shape.push_back(static_cast<std::int64_t>(level->size()));
    if (level->empty()) break;
    level = &level->front();
  }
  if (shape.rank() == 0)
    return invalid_argument("explain: " + path + " is " + std::string(kind_of(value)) +
                            "; expected nested lists of numbers");
  return shape;
}

Status read_level(const Json& value, const Numbers& out, int axis, const std::string& path,
                  std::vector<double>& values) {
  if (axis == out.shape.rank()) {
    QKV_ASSIGN_OR_RETURN(const double number, read_number(value, path));
    values.push_back(number);
    return {};
  }
  if (!value.is_array())
    return invalid_argument("explain: " + path + " is " + std::string(kind_of(value)) +
                            ", but its neighbours are lists");
  if (static_cast<std::int64_t>(value.size()) != out.shape[axis])
    return invalid_argument("explain: " + path + " has " + std::to_string(value.size()) +
                            " entries, but its neighbours have " + std::to_string(out.shape[axis]) +
                            "; every row of a tensor is equally long");
  for (std::size_t i = 0; i < value.size(); ++i)
    QKV_RETURN_IF_ERROR(read_level(value[i], out, axis + 1, indexed(path, i), values));
  return {};
}

}  // namespace

Result<double> read_number(const Json& value, const std::string& path) {
  if (value.is_number()) return value.get<double>();
  if (value.is_boolean()) return value.get<bool>() ? 1.0 : 0.0;
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    if (text == "Infinity") return kInfinity;
    if (text == "-Infinity") return -kInfinity;
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  return not_a_number(value, path);
}

Result<Numbers> read_numbers(const Json& value, const std::string& path) {
  Numbers out;
  QKV_ASSIGN_OR_RETURN(out.shape, measure(value, path));
  const std::int64_t count = element_count(out.shape);
  if (count < 0 || count > kMostElements)
    return unsupported("explain: " + path + " " + to_string(out.shape) + " has more than " +
                       std::to_string(kMostElements) + " elements, the most that a document holds");
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(count));
  QKV_RETURN_IF_ERROR(read_level(value, out, 0, path, values));
  out.values = std::move(values);
  return out;
}

bool parse_number(const std::string& text, double& value) {
  std::string body = text;
  const bool negative = !body.empty() && body.front() == '-';
  if (negative || (!body.empty() && body.front() == '+')) body.erase(0, 1);
  if (!body.empty() && body.front() == '.') body.insert(0, "0");
  if (body == "inf" || body == "Infinity") {
    value = kInfinity;
  } else if (body == "nan" || body == "NaN") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (body.empty() || body.front() == '-') return false;
    const Result<Json> number = read_json(body);
    if (!number.is_ok() || !number->is_number()) return false;
    value = number->get<double>();
  }
  if (negative) value = -value;
  return true;
}

void keep_one(Numbers& numbers, std::int64_t index) {
  const auto one = static_cast<std::int64_t>(numbers.values.size()) / numbers.shape[0];
  const auto begin = numbers.values.begin() + index * one;
  numbers.values = std::vector<double>(begin, begin + one);
  numbers.shape[0] = 1;
}

std::string number_to_json(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return shortest(value);
}

namespace {

void append_level(std::string& out, View<const void> view, int axis, std::int64_t offset) {
  if (axis == view.shape.rank()) {
    out += number_to_json(element_as_double(view, offset));
    return;
  }
  out += '[';
  for (std::int64_t i = 0; i < view.shape[axis]; ++i) {
    if (i > 0) out += ',';
    append_level(out, view, axis + 1, offset + i * view.strides[axis]);
  }
  out += ']';
}

}  // namespace

void append_json(std::string& out, View<const void> view) { append_level(out, view, 0, 0); }

}  // namespace qkv
