// What the checker says of the public failures around attention: norms, and a cache.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "src/check/check.h"
#include "tests/cases.h"

namespace qkv {
namespace {

using testing::Json;

check::Placed placed(const std::vector<double>& values, const Dims& shape, DType dtype) {
  const Tensor exact = std::move(converted(View<const double>(values.data(), shape), dtype)).value();
  return std::move(check::place(exact.view())).value();
}

Tensor tensor(const std::vector<double>& values, const Dims& shape, DType dtype) {
  return std::move(converted(View<const double>(values.data(), shape), dtype)).value();
}

// One token of a LayerNorm without gamma and beta.
check::Case norm_case(const std::vector<double>& x, double eps, DType dtype) {
  check::Case made;
  made.problem.operation = Operation::kLayerNorm;
  made.problem.layer.channels = static_cast<std::int64_t>(x.size());
  made.problem.layer.norm = true;
  made.problem.layer.eps = eps;
  made.problem.dtype = dtype;
  made.layer.x = placed(x, {1, 1, made.problem.layer.channels}, dtype);
  return made;
}

// The names of the first explanation.
std::vector<std::string> named(check::Case asked, check::SubjectOutputs got) {
  const auto report = check::check_given(std::move(asked), std::move(got), "the report's", {});
  EXPECT_TRUE(report.is_ok()) << report.status().message();
  EXPECT_EQ(report->verdict, check::Verdict::kWrong) << report->headline;
  if (report->diagnosis.tied.empty()) return {report->headline};
  std::vector<std::string> names;
  for (const check::NamedMistake& one : report->diagnosis.tied.front().mistakes) names.emplace_back(one.name);
  return names;
}

// Its eps is outside the root too, which no number shows where sigma is 1/2: its slope there is 1 on either side.
TEST(CasesCheckLayer, c082_is_the_unbiased_variance) {
  const testing::Case c("c082");
  const std::vector<double> x = testing::numbers(c.json["inputs"]["x"]);
  check::SubjectOutputs got;
  got.layer.y = tensor(testing::numbers(c.wrong("y")), {1, 1, 4}, DType::kF64);
  EXPECT_EQ(named(norm_case(x, 1e-6, DType::kF64), std::move(got)), std::vector<std::string>{"norm_unbiased"})
      << c.where();
}

TEST(CasesCheckLayer, c084_is_the_variance_in_one_pass) {
  const testing::Case c("c084");
  std::vector<double> x;
  float sum = 0, squares = 0;
  for (int i = 0; i < 16; ++i) {
    const auto value = static_cast<float>(1000 + i * 0.001);
    x.push_back(static_cast<double>(value));
    sum += value;
    squares += value * value;
  }
  const double eps = c.json["inputs"]["eps"].get<double>();
  const float mean = sum / 16;
  const float variance = squares / 16 - mean * mean;
  EXPECT_FLOAT_EQ(variance, c.wrong("var").get<float>());
  std::vector<double> y;
  for (const double value : x) y.push_back((value - static_cast<double>(mean)) / std::sqrt(variance + eps));
  EXPECT_NEAR(y[0], c.wrong("y0").get<double>(), 1e-6);
  check::SubjectOutputs got;
  got.layer.y = tensor(y, {1, 1, 16}, DType::kF32);
  EXPECT_EQ(named(norm_case(x, eps, DType::kF32), std::move(got)), std::vector<std::string>{"norm_one_pass"})
      << c.where();
}

TEST(CasesCheckLayer, c087_takes_a_mean_away_twice) {
  const testing::Case c("c087");
  const Json& inputs = c.json["inputs"];
  check::Case asked = norm_case(testing::numbers(inputs["x"]), inputs["eps"].get<double>(), DType::kF64);
  asked.problem.backward = true;
  asked.layer.d_y = placed(testing::numbers(inputs["dy"]), {1, 1, 3}, DType::kF64);
  check::SubjectOutputs got;
  got.layer.dx = tensor(testing::numbers(c.wrong("dx")), {1, 1, 3}, DType::kF64);
  EXPECT_EQ(named(std::move(asked), std::move(got)), std::vector<std::string>{"norm_gradient_mean_twice"}) << c.where();
}

TEST(CasesCheckLayer, c096_writes_a_token_one_slot_too_far) {
  const testing::Case c("c096");
  const Json& inputs = c.json["inputs"];
  const auto number = [&](const char* name, std::size_t at) { return inputs[name][at][0].get<double>(); };
  check::Case asked;
  asked.problem.operation = Operation::kDecode;
  asked.problem.causality = Causality::kCausal;
  asked.problem.corner = Corner::kBottomRight;
  asked.problem.key_length = 3;
  asked.problem.dtype = DType::kF64;
  const Dims slots{1, 1, 3, 1};
  asked.q = placed({1}, {1, 1, 1, 1}, DType::kF64);
  asked.k = placed({number("k_cache_before", 0), number("k_cache_before", 1), number("new_k", 0)}, slots, DType::kF64);
  asked.v = placed({number("v_cache_before", 0), number("v_cache_before", 1), number("new_v", 0)}, slots, DType::kF64);
  asked.stale_k = placed({0, 0, 0}, slots, DType::kF64);
  asked.stale_v = placed({0, 0, number("stale", 0)}, slots, DType::kF64);
  check::SubjectOutputs got;
  got.o = tensor({c.wrong("out_over_3_slots").get<double>()}, {1, 1, 1, 1}, DType::kF64);
  EXPECT_EQ(named(std::move(asked), std::move(got)), std::vector<std::string>{"cache_slot_skipped"}) << c.where();
}

}  // namespace
}  // namespace qkv
