// The public failures in tests/data/cases.jsonl: reading a line, and computing it on every engine that there is.
#ifndef QKV_TESTS_CASES_H_
#define QKV_TESTS_CASES_H_

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "qkv/attention.h"
#include "qkv/reference.h"
#include "qkv/target.h"
#include "tests/array.h"

namespace qkv::testing {

inline std::vector<Json> all_cases() {
  std::ifstream file(std::string(QKV_SOURCE_DIR) + "/tests/data/cases.jsonl");
  std::vector<Json> cases;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) cases.push_back(Json::parse(line, nullptr, false));
  return cases;
}

// A line of the file with its tensors, and the options that a test adds.
struct Case {
  explicit Case(const std::string& id) {
    for (Json& line : all_cases())
      if (line["id"] == id) json = std::move(line);
    EXPECT_FALSE(json.is_null()) << "no case " << id;
    const Json& inputs = json["inputs"];
    if (inputs.contains("q")) q = array(inputs["q"]);
    if (inputs.contains("k")) k = array(inputs["k"]);
    if (inputs.contains("v") && inputs["v"].is_array()) v = array(inputs["v"]);
    if (inputs.contains("keep")) set_keep(inputs["keep"]);
    if (inputs.contains("bias")) bias = array(inputs["bias"], 2);
    if (inputs.contains("scale")) options.scale = inputs["scale"].get<double>();
    if (inputs.contains("softcap")) options.softcap = inputs["softcap"].get<double>();
    if (inputs.contains("scores") && inputs["scores"].front().is_number()) set_scores(inputs["scores"]);
    if (inputs.value("causal", false)) options.causality = Causality::kCausal;
  }

  const Json& right(const char* name) const { return json["right"][name]; }
  const Json& wrong(const char* name) const { return json["wrong"][name]; }
  std::string where() const { return json["id"].get<std::string>() + ", from " + json["source"].get<std::string>(); }

  // One query of width 1 that has these scores.
  void set_scores(const Json& scores) {
    q = array(Json({{1.0}}));
    k = array(scores);
    k.shape = {1, 1, static_cast<std::int64_t>(scores.size()), 1};
    options.scale = 1;
  }
  void set_keep(const Json& mask) {
    keep.clear();
    for (const double value : numbers(mask)) keep.push_back(value != 0);
    keep_shape = array(mask, 2).shape;
  }

  Json json;
  Array q, k, v, bias;
  std::vector<std::uint8_t> keep;
  Dims keep_shape;
  AttentionOptions options;  // its keep and bias are set from the above on each run
};

// v [1,1,keys,1] = 1, 10, 100 ...: which keys are seen shows in the digits.
inline Array powers_of_ten(std::int64_t keys) {
  Array out{{1, 1, keys, 1}, {}};
  for (std::int64_t j = 0; j < keys; ++j) out.values.push_back(std::pow(10.0, static_cast<double>(j)));
  return out;
}

// v [1,1,keys,keys], the unit matrix: o is then the row of weights.
inline Array unit_matrix(std::int64_t keys) {
  Array out{{1, 1, keys, keys}, std::vector<double>(static_cast<std::size_t>(keys * keys))};
  for (std::int64_t j = 0; j < keys; ++j) out.values[static_cast<std::size_t>(j * (keys + 1))] = 1;
  return out;
}

// Something that computes attention: the reference, or the kernel of one target in one type.
struct Engine {
  std::string name;
  bool is_reference = false;
  Target target = Target::kAuto;
  DType dtype = DType::kF64;
};

inline std::vector<Engine> engines() {
  std::vector<Engine> all = {{"reference", true}};
  for (const Target target : available_targets())
    for (const DType dtype : {DType::kF64, DType::kF32})
      all.push_back({std::string(to_string(target)) + " " + std::string(to_string(dtype)), false, target, dtype});
  return all;
}

struct Answer {
  std::vector<double> o, lse;
  friend bool operator==(const Answer&, const Answer&) = default;
};

inline std::vector<double> as_doubles(const Tensor& tensor) {
  const Result<Tensor> wide = converted(tensor.view(), DType::kF64);
  EXPECT_TRUE(wide.is_ok());
  return numbers(*wide);
}

// Computes on one engine; the inputs may have any strides.
inline Answer compute(const Engine& engine, const AttentionInputs& inputs, const AttentionOptions& options) {
  if (engine.is_reference) {
    const auto result = reference::attention_forward(inputs, options);
    EXPECT_TRUE(result.is_ok()) << result.status().message();
    return result.is_ok() ? Answer{numbers(result->o), numbers(result->lse)} : Answer{};
  }
  const Dims& q = inputs.q.shape;
  Result<Tensor> o = Tensor::zeros(inputs.q.dtype, {q[0], q[1], q[2], inputs.v.shape[3]});
  Result<Tensor> lse = Tensor::zeros(inputs.q.dtype == DType::kF64 ? DType::kF64 : DType::kF32, {q[0], q[1], q[2]});
  EXPECT_TRUE(o.is_ok() && lse.is_ok());
  Execution execution;
  execution.threads = 1;
  execution.target = engine.target;
  const auto report = attention_forward(inputs, {o->view(), lse->view()}, options, execution);
  EXPECT_TRUE(report.is_ok()) << report.status().message();
  return {as_doubles(*o), as_doubles(*lse)};
}

// Computes a case whose tensors are contiguous.
inline Answer compute(const Engine& engine, const Case& c) {
  AttentionOptions options = c.options;
  if (!c.keep.empty()) options.keep = View<const std::uint8_t>(c.keep.data(), c.keep_shape);
  Result<Tensor> bias = Tensor();
  if (!c.bias.values.empty()) {
    bias = converted(c.bias.view(), engine.dtype);
    options.bias = bias->view();
  }
  const Result<Tensor> q = converted(c.q.view(), engine.dtype);
  const Result<Tensor> k = converted(c.k.view(), engine.dtype);
  const Result<Tensor> v = converted(c.v.view(), engine.dtype);
  EXPECT_TRUE(q.is_ok() && k.is_ok() && v.is_ok() && bias.is_ok());
  return compute(engine, {q->view(), k->view(), v->view()}, options);
}

// The file prints 12 digits: half a unit of the last one, and what it promises of float64 (1e-12) and float32 (1e-6,
// here relative to numbers above 1: float32 itself is).
inline double tolerance(DType dtype, double want) {
  if (!std::isfinite(want) || want == 0) return dtype == DType::kF64 ? 1e-12 : 1e-6;
  const double printed = 0.5 * std::pow(10.0, std::floor(std::log10(std::abs(want))) - 11);
  return printed + (dtype == DType::kF64 ? 1e-12 : 2e-6) * std::max(1.0, std::abs(want));
}

inline void expect_numbers(const std::vector<double>& got, const Json& expected, DType dtype = DType::kF64) {
  const std::vector<double> want = numbers(expected);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::isfinite(want[i]))
      EXPECT_NEAR(got[i], want[i], tolerance(dtype, want[i])) << "number " << i;
    else
      EXPECT_EQ(got[i], want[i]) << "number " << i;
  }
}

inline void expect_output(const Case& c, const Json& o) {
  for (const Engine& engine : engines()) {
    SCOPED_TRACE(c.where() + ", on " + engine.name);
    expect_numbers(compute(engine, c).o, o, engine.dtype);
  }
}

inline void expect_lse(const Case& c, const Json& lse) {
  for (const Engine& engine : engines()) {
    SCOPED_TRACE(c.where() + ", on " + engine.name);
    expect_numbers(compute(engine, c).lse, lse, engine.dtype);
  }
}

// Bit for bit, on every engine.
inline void expect_exact_output(const Case& c, const Json& o) {
  for (const Engine& engine : engines()) {
    SCOPED_TRACE(c.where() + ", on " + engine.name);
    EXPECT_EQ(compute(engine, c).o, numbers(o));
  }
}

// The gradients by the reference.
inline reference::AttentionGradients gradients(const Case& c, const Array& d_o, Trace* trace = nullptr) {
  AttentionOptions options = c.options;
  if (!c.keep.empty()) options.keep = View<const std::uint8_t>(c.keep.data(), c.keep_shape);
  if (!c.bias.values.empty()) options.bias = c.bias.view();
  auto result = reference::attention_backward({c.q.view(), c.k.view(), c.v.view()}, d_o.view(), {}, options, trace);
  EXPECT_TRUE(result.is_ok()) << result.status().message();
  return result.is_ok() ? std::move(result).value() : reference::AttentionGradients{};
}

}  // namespace qkv::testing

#endif  // QKV_TESTS_CASES_H_
