// The generator: the same numbers everywhere, spread as promised, in whatever memory was asked for.
#include "src/check/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "src/core/for_each_element.h"
#include "src/core/random.h"

namespace qkv::check {
namespace {

Case made(const char* line, const GenerateOptions& options = {}) {
  const Result<Problem> problem = parse_problem(line);
  EXPECT_TRUE(problem.is_ok()) << problem.status().message();
  Result<Case> result = generate(*problem, options);
  EXPECT_TRUE(result.is_ok()) << result.status().message();
  return std::move(result).value();
}

std::vector<double> numbers(View<const void> view) {
  std::vector<double> values;
  for_each_element(view.shape, view.strides,
                   [&](std::int64_t offset) { values.push_back(element_as_double(view, offset)); });
  return values;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

TEST(Random, bits_are_those_of_splitmix64) {
  // From an implementation in Python that also reproduces the published 6457827717110365317 ... of seed 1234567.
  EXPECT_EQ(RandomStream(0, 0).bits(0), 0x568a9b0b1a2c05ecULL);
  EXPECT_EQ(RandomStream(7, 1).bits(5), 0x7df32126db878a36ULL);
}

TEST(Random, normal_numbers_have_the_moments_of_n01) {
  const RandomStream stream(7, 1);
  constexpr int kCount = 200000;
  double sum = 0, squares = 0, fourth = 0;
  int beyond_two = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = stream.normal(static_cast<std::uint64_t>(i));
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    beyond_two += std::fabs(x) > 2;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
  EXPECT_NEAR(fourth / kCount, 3, 0.15);
  EXPECT_NEAR(beyond_two / double{kCount}, 0.0455, 0.002);
}

TEST(Random, streams_and_seeds_are_not_each_other) {
  EXPECT_NE(RandomStream(1, 1).bits(0), RandomStream(1, 2).bits(0));
  EXPECT_NE(RandomStream(1, 1).bits(0), RandomStream(2, 1).bits(0));
  EXPECT_NE(RandomStream(1, 2).bits(0), RandomStream(2, 1).bits(0));
}

TEST(Generate, a_line_names_the_same_numbers_for_good) {
  const Case c = made("attention T2 D2 seed=7 f64");
  EXPECT_EQ(numbers(c.q.view), (std::vector<double>{0.22181988795027832, -0.66946449704773459, -0.84977895582626062,
                                                    -0.2412236183127684}));
}

TEST(Generate, layout_and_placement_change_no_value) {
  const char* line = "attention B2 H4/2 T3x5 D3/2 keep=2x1x3x5 key_mask bias=4x1x5 backward dlse seed=3";
  const Case plain = made(line);
  GenerateOptions spread;
  spread.placement = {.layout = Layout::kBHTD, .last_stride = 3, .row_gap = 2, .shift = 1};
  std::string tokens_first = line;  // appended to: g++ 12 sees an overflow in the sum of two
  tokens_first += " bthd";
  const Case moved = made(tokens_first.c_str(), spread);
  EXPECT_EQ(numbers(plain.q.view), numbers(moved.q.view));
  EXPECT_EQ(numbers(plain.v.view), numbers(moved.v.view));
  EXPECT_EQ(numbers(plain.keep.view), numbers(moved.keep.view));
  EXPECT_EQ(numbers(plain.key_mask.view), numbers(moved.key_mask.view));
  EXPECT_EQ(numbers(plain.bias.view), numbers(moved.bias.view));
  EXPECT_EQ(numbers(plain.d_o.view), numbers(moved.d_o.view));
  EXPECT_EQ(numbers(plain.d_lse.view), numbers(moved.d_lse.view));
}

TEST(Generate, tensors_have_the_shapes_and_types_of_the_line) {
  const Case c =
      made("attention B2 H6/2 T3x5 D7/11 bf16 out=f32 corner=top_left keep=3x1 bias=6x1x5 slopes sinks backward dlse");
  EXPECT_EQ(c.q.view.shape, (Dims{2, 6, 3, 7}));
  EXPECT_EQ(c.k.view.shape, (Dims{2, 2, 5, 7}));
  EXPECT_EQ(c.v.view.shape, (Dims{2, 2, 5, 11}));
  EXPECT_EQ(c.q.view.dtype, DType::kBF16);
  EXPECT_EQ(c.keep.view.shape, (Dims{3, 1}));
  EXPECT_EQ(c.bias.view.dtype, DType::kBF16);
  EXPECT_EQ(c.d_o.view.dtype, DType::kF32);
  EXPECT_EQ(c.d_lse.view.shape, (Dims{2, 6, 3}));
  EXPECT_EQ(c.slopes.size(), 6U);
  EXPECT_EQ(c.sinks.size(), 6U);
  EXPECT_FALSE(c.key_mask.view.is_present());
  EXPECT_DOUBLE_EQ(made("attention H8 T1 slopes").slopes[0], 0.5);
}

TEST(Generate, layout_is_the_one_that_was_asked_for) {
  EXPECT_EQ(made("attention B2 H3 T5 D7").q.view.strides, (Dims{105, 35, 7, 1}));
  EXPECT_EQ(made("attention B2 H3 T5 D7 bthd").q.view.strides, (Dims{105, 7, 21, 1}));
}

TEST(Generate, a_mask_hides_a_sensible_share_and_some_whole_rows) {
  const Case c = made("attention H4 T256 D1 keep=4x256x256 key_mask");
  const double seen = mean(numbers(c.keep.view));
  EXPECT_GT(seen, 0.5);
  EXPECT_LT(seen, 0.8);
  const auto* bits = static_cast<const bool*>(c.keep.view.data);
  int empty = 0;
  for (std::ptrdiff_t row = 0; row < std::ptrdiff_t{4} * 256; ++row)
    empty += std::count(bits + row * 256, bits + (row + 1) * 256, true) == 0;
  EXPECT_GT(empty, 30);
  EXPECT_LT(empty, 120);
  EXPECT_GT(mean(numbers(c.key_mask.view)), 0.5);
}

TEST(Generate, a_share_of_the_bias_is_minus_infinity_on_request) {
  GenerateOptions options;
  options.hidden_bias = 0.25;
  int hidden = 0;
  for (double b : numbers(made("attention T64 D1 bias=64x64", options).bias.view))
    hidden += b == -std::numeric_limits<double>::infinity();
  EXPECT_NEAR(hidden / 4096.0, 0.25, 0.03);
}

TEST(Placed, what_is_no_element_is_nan_and_a_write_there_is_noticed) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  Result<Placed> placed = place(View<const float>(values, {2, 3}), {.last_stride = 2, .row_gap = 1, .shift = 1});
  ASSERT_TRUE(placed.is_ok());
  EXPECT_EQ(placed->view.strides, (Dims{7, 2}));
  EXPECT_EQ(numbers(placed->view), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  auto* data = static_cast<float*>(placed->view.data);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, sizeof(float));
  for (std::ptrdiff_t gap : {-1, 1, 6, 14}) EXPECT_TRUE(std::isnan(data[gap])) << gap;
  data[2] = 9;
  EXPECT_TRUE(surroundings_are_intact(*placed));
  for (std::ptrdiff_t gap : {-1, 1, 6, 14}) {
    const float before = data[gap];
    data[gap] = 0;
    EXPECT_FALSE(surroundings_are_intact(*placed)) << gap;
    std::memcpy(data + gap, &before, sizeof before);
  }
}

TEST(Placed, outputs_that_nobody_writes_stay_nan) {
  for (const char* type : {"f64", "f32", "bf16", "f16"}) {
    const Result<Problem> problem = parse_problem("attention T2x3 D2 lse " + std::string(type));
    const Result<CaseOutputs> outputs = make_outputs(*problem);
    ASSERT_TRUE(outputs.is_ok());
    for (double value : numbers(outputs->o.view)) EXPECT_TRUE(std::isnan(value)) << type;
    for (double value : numbers(outputs->lse.view)) EXPECT_TRUE(std::isnan(value)) << type;
  }
}

TEST(Generate, zero_sizes_give_present_and_empty_tensors) {
  for (const char* line :
       {"attention B0 T3 D2", "attention H0 T3 D2", "attention T0x3 D2", "attention T3x0 D2 keep=3x0"})
    EXPECT_TRUE(made(line).k.view.is_present()) << line;
}

}  // namespace
}  // namespace qkv::check
