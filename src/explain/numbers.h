// A small array of float64 with its shape: how explain holds tensors that came as nested lists.
#ifndef QKV_SRC_EXPLAIN_NUMBERS_H_
#define QKV_SRC_EXPLAIN_NUMBERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/status.h"
#include "qkv/tensor.h"
#include "src/explain/json_read.h"

namespace qkv {

inline constexpr std::int64_t kMostElements = 4'000'000;  // of an input, and of B Hq Tq Tk: a document holds them all

struct Numbers {
  std::vector<double> values;  // row-major
  Dims shape;

  bool is_present() const { return shape.rank() > 0; }
  View<double> view() { return {values.data(), shape}; }
  View<const double> view() const { return {values.data(), shape}; }
};

// Reads nested lists of numbers (or true and false as 1 and 0, or "Infinity" "-Infinity" "NaN") of 1 to 4 axes.
// Errors: kInvalidArgument with the path: `explain: k[1] has 3 entries, but k[0] has 2; ...`; kUnsupported for
// more than kMostElements.
Result<Numbers> read_numbers(const Json& value, const std::string& path);

// One number, or one of the three texts above.
Result<double> read_number(const Json& value, const std::string& path);

// The number that a text like "0.5", "-2e3", ".5", "inf" or "nan" stands for; false if it stands for none.
bool parse_number(const std::string& text, double& value);

// Keeps only `index` of the first axis, which stays with extent 1. Constraint: index inside it.
void keep_one(Numbers& numbers, std::int64_t index);

// The shortest decimal that reads back as the same double; "\"NaN\"" and "\"-Infinity\"" are JSON strings.
std::string number_to_json(double value);

// Nested lists of every element of a view, each by number_to_json.
void append_json(std::string& out, View<const void> view);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_NUMBERS_H_
