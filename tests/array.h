// Arrays of doubles for tests, from JSON or from a recipe, and views of them in any floating type.
#ifndef QKV_TESTS_ARRAY_H_
#define QKV_TESTS_ARRAY_H_

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "qkv/tensor.h"

namespace qkv::testing {

using Json = nlohmann::json;

struct Array {
  Dims shape;
  std::vector<double> values;
  View<const void> view() const { return View<const double>(values.data(), shape); }
};

// A number, or one of the words that JSON lacks numbers for: "nan" "inf" "-inf".
inline double number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
  const std::string word = json.get<std::string>();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  return word == "-inf" ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

inline void append_numbers(const Json& json, std::vector<double>& out) {
  if (!json.is_array()) return out.push_back(number(json));
  for (const Json& item : json) append_numbers(item, out);
}

// Every number of nested lists, row-major.
inline std::vector<double> numbers(const Json& json) {
  std::vector<double> out;
  append_numbers(json, out);
  return out;
}

inline std::vector<double> numbers(const Tensor& tensor) {
  return {tensor.data<double>(), tensor.data<double>() + tensor.size()};
}

// Nested lists as an array. Leading axes of extent 1 are added up to `rank`: a matrix [[..]] becomes [1,1,T,D] for 4.
inline Array array(const Json& json, int rank = 4) {
  Dims found;
  for (const Json* level = &json; level->is_array(); level = &level->front())
    found.push_back(static_cast<std::int64_t>(level->size()));
  Array out;
  for (int axis = found.rank(); axis < rank; ++axis) out.shape.push_back(1);
  for (int axis = 0; axis < found.rank(); ++axis) out.shape.push_back(found[axis]);
  out.values = numbers(json);
  return out;
}

// x = (1664525 x + 1013904223) mod 2^32, value = x / 2^32 · 2 − 1: the generator of the recipes in tests/data.
class Lcg32 {
 public:
  explicit Lcg32(std::uint32_t seed) : state_(seed) {}
  double next(double amplitude = 1) {
    state_ = 1664525u * state_ + 1013904223u;
    return (static_cast<double>(state_) / 4294967296.0 * 2 - 1) * amplitude;
  }
  Array fill(Dims shape, double amplitude = 1) {
    Array out{shape, {}};
    for (std::int64_t i = 0; i < element_count(shape); ++i) out.values.push_back(next(amplitude));
    return out;
  }

 private:
  std::uint32_t state_;
};

inline Json read_json(const std::string& path) {
  std::ifstream file(std::string(QKV_SOURCE_DIR) + "/" + path);
  return Json::parse(file, nullptr, false);
}

}  // namespace qkv::testing

#endif  // QKV_TESTS_ARRAY_H_
