// The comparator must fail what is wrong and pass what is right, under the very tolerances that the tests use.
#include "src/check/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "src/check/bounds.h"
#include "src/check/generate.h"
#include "src/check/plain.h"

namespace qkv::check {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Comparison compared(const std::vector<double>& got, const std::vector<double>& want, const Bound& bound) {
  const Dims shape{static_cast<std::int64_t>(want.size())};
  const Result<Comparison> result =
      compare(View<const double>(got.data(), shape), View<const double>(want.data(), shape), bound);
  EXPECT_TRUE(result.is_ok());
  return *result;
}

bool passes(double got, double want, const Bound& bound = {.absolute = 0.5}) {
  return compared({got}, {want}, bound).passed;
}

TEST(Compare, nan_passes_only_where_nan_is_wanted) {
  EXPECT_TRUE(passes(kNaN, kNaN));
  EXPECT_FALSE(passes(kNaN, 1));
  EXPECT_FALSE(passes(1, kNaN));
  EXPECT_FALSE(passes(kInf, kNaN));
  EXPECT_FALSE(passes(kNaN, -kInf));
}

TEST(Compare, infinities_must_be_equal_with_their_sign) {
  EXPECT_TRUE(passes(-kInf, -kInf));
  EXPECT_TRUE(passes(kInf, kInf));
  EXPECT_FALSE(passes(kInf, -kInf));
  EXPECT_FALSE(passes(-1e300, -kInf));
  EXPECT_FALSE(passes(-kInf, -1e300, {.absolute = kInf}));
}

TEST(Compare, no_bound_excuses_a_wrong_nan) {
  EXPECT_FALSE(passes(kNaN, 1, {.absolute = kInf}));
  EXPECT_FALSE(passes(1, 1, {.absolute = kNaN}));
}

TEST(Compare, a_zero_of_either_sign_is_zero) { EXPECT_TRUE(passes(-0.0, 0.0, {.absolute = 0})); }

TEST(Compare, an_error_at_the_bound_passes_and_one_above_fails) {
  EXPECT_TRUE(passes(1.5, 1));
  EXPECT_FALSE(passes(std::nextafter(1.5, 2), 1));
  EXPECT_TRUE(passes(3.25, 3, {.absolute = 1, .relative = 0.0625}));
  EXPECT_FALSE(passes(3.26, 3, {.absolute = 1, .relative = 0.0625}));
}

TEST(Compare, names_the_worst_element_and_counts_the_wrong_ones) {
  const double got[] = {1, 2, 3.5, 4, 7, 6};
  const double want[] = {1, 2, 3, 4, 5, 6};
  const Result<Comparison> c =
      compare(View<const double>(got, {2, 3}), View<const double>(want, {2, 3}), {.absolute = 0.1});
  ASSERT_TRUE(c.is_ok());
  EXPECT_EQ(c->worst, (Dims{1, 1}));
  EXPECT_EQ(c->failed, 2);
  EXPECT_EQ(c->count, 6);
  EXPECT_EQ(c->largest_error, 2);
  EXPECT_EQ(to_string(*c), "2 of 6 wrong; worst [1,1]: got 7, want 5, error 2 > 0.1");
}

TEST(Compare, reads_both_sides_through_their_strides) {
  const float got[] = {1, 9, 3, 9, 2, 9, 4, 9};
  const double want[] = {1, 2, 3, 4};
  const Result<Comparison> c =
      compare(View<const float>(got, {2, 2}, {2, 4}), View<const double>(want, {2, 2}), {.absolute = 0});
  ASSERT_TRUE(c.is_ok());
  EXPECT_TRUE(c->passed) << to_string(*c);
}

TEST(Compare, refuses_shapes_and_types_that_cannot_be_compared) {
  const double values[] = {1, 2, 3, 4};
  const bool bits[] = {true, true, true, true};
  EXPECT_EQ(compare(View<const double>(values, {4}), View<const double>(values, {2, 2}), {}).code(),
            StatusCode::kShapeMismatch);
  EXPECT_EQ(compare(View<const bool>(bits, {4}), View<const double>(values, {4}), {}).code(),
            StatusCode::kShapeMismatch);
}

TEST(Compare, nothing_to_compare_passes) { EXPECT_TRUE(compared({}, {}, {}).passed); }

TEST(Bounds, ulp_is_the_distance_to_the_next_number) {
  EXPECT_EQ(ulp(DType::kF32, 1.0), 0x1p-23);
  EXPECT_EQ(ulp(DType::kF32, 3.9), 0x1p-22);
  EXPECT_EQ(ulp(DType::kF64, 1.0), 0x1p-52);
  EXPECT_EQ(ulp(DType::kBF16, 1.0), 0x1p-7);
  EXPECT_EQ(ulp(DType::kF16, 0.5), 0x1p-11);
  EXPECT_EQ(ulp(DType::kF16, 0), 0x1p-24);
}

// A result of the right shape, made wrong; rows of [Tq,Dv].
struct Wrong {
  const char* name;
  std::function<void(std::vector<double>& o, const Case& c)> spoil;
};

constexpr std::size_t kQueries = 24, kKeys = 40, kWidth = 16;

const float* values_of(const Case& c) { return static_cast<const float*>(c.v.view.data); }

double mean_value(const std::vector<float>& v, std::size_t column) {
  double sum = 0;
  for (std::size_t j = 0; j < kKeys; ++j) sum += static_cast<double>(v[j * kWidth + column]);
  return sum / kKeys;
}

std::vector<float> widened(const Case& c) {
  const Result<Tensor> v = converted(c.v.view, DType::kF32);
  return {v->data<float>(), v->data<float>() + v->size()};
}

const std::vector<Wrong>& wrong_results() {
  static const std::vector<Wrong> all = {
      {"zeros", [](std::vector<double>& o, const Case&) { o.assign(o.size(), 0); }},
      {"a constant", [](std::vector<double>& o, const Case&) { o.assign(o.size(), 0.1); }},
      {"the mean of v",
       [](std::vector<double>& o, const Case& c) {
         for (std::size_t i = 0; i < o.size(); ++i) o[i] = mean_value(widened(c), i % kWidth);
       }},
      {"shuffled v",
       [](std::vector<double>& o, const Case& c) {
         const std::vector<float> v = widened(c);
         for (std::size_t i = 0; i < o.size(); ++i) o[i] = static_cast<double>(v[(i * 7) % v.size()]);
       }},
      {"one NaN", [](std::vector<double>& o, const Case&) { o[5] = kNaN; }},
      {"one infinity", [](std::vector<double>& o, const Case&) { o[5] = kInf; }},
      {"all NaN", [](std::vector<double>& o, const Case&) { o.assign(o.size(), kNaN); }},
      {"the sign",
       [](std::vector<double>& o, const Case&) {
         for (double& x : o) x = -x;
       }},
      {"one element", [](std::vector<double>& o, const Case&) { o[o.size() / 2] += 0.25; }},
      {"rows one off",
       [](std::vector<double>& o, const Case&) { std::rotate(o.begin(), o.begin() + kWidth, o.end()); }},
      {"columns one off", [](std::vector<double>& o, const Case&) { std::rotate(o.begin(), o.begin() + 1, o.end()); }},
      {"the last row missing", [](std::vector<double>& o, const Case&) { std::fill(o.end() - kWidth, o.end(), 0.0); }},
      {"a tenth too large",
       [](std::vector<double>& o, const Case&) {
         for (double& x : o) x *= 1.1;
       }},
  };
  return all;
}

class MustFail : public testing::TestWithParam<const char*> {};

TEST_P(MustFail, under_the_tolerances_in_use) {
  Problem problem;
  problem.query_length = kQueries;
  problem.key_length = kKeys;
  problem.width = problem.value_width = kWidth;
  problem.dtype = *parse_dtype(GetParam());
  problem.seed = 5;
  const Result<Case> c = generate(problem);
  ASSERT_TRUE(c.is_ok());
  const Result<ForwardExpectation> expectation = expect_forward(c->inputs(), c->options(), problem.dtype);
  ASSERT_TRUE(expectation.is_ok()) << expectation.status().message();
  const auto* want = expectation->want.o.data<double>();
  const std::vector<double> right(want, want + expectation->want.o.size());
  EXPECT_TRUE(compared(right, right, expectation->o).passed);
  for (const Wrong& wrong : wrong_results()) {
    std::vector<double> got = right;
    wrong.spoil(got, *c);
    EXPECT_FALSE(compared(got, right, expectation->o).passed) << wrong.name;
  }
}

TEST_P(MustFail, but_the_plain_computation_passes_its_own_bound) {
  for (const char* words : {"", " causal", " bias=40 softcap=5", " keep=40x40 sinks", " window=3,1 slopes"}) {
    const Result<Problem> problem = parse_problem("attention B2 H4/2 T40 D16/9 lse " + std::string(GetParam()) + words);
    ASSERT_TRUE(problem.is_ok()) << problem.status().message();
    const Result<Case> c = generate(*problem);
    const auto expectation = expect_forward(c->inputs(), c->options(), problem->dtype);
    const auto plain = plain_attention_forward(c->inputs(), c->options(), problem->dtype);
    ASSERT_TRUE(expectation.is_ok() && plain.is_ok());
    const auto verdict = judge(*expectation, plain->o.view(), plain->lse.view());
    ASSERT_TRUE(verdict.is_ok());
    EXPECT_TRUE(verdict->passed()) << format(*problem) << "\n" << to_string(*verdict);
    EXPECT_LT(expectation->o.absolute, 0.2);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, MustFail, testing::Values("f64", "f32", "bf16", "f16"),
                         [](const auto& type) { return std::string(type.param); });

TEST(Compare, a_row_wrongly_empty_or_wrongly_full_fails) {
  const Result<Problem> problem = parse_problem("attention T5x3 D4 causal=offset:-2 lse");
  const Result<Case> c = generate(*problem);
  const auto expectation = expect_forward(c->inputs(), c->options(), DType::kF32);
  ASSERT_TRUE(expectation.is_ok());
  EXPECT_EQ(expectation->want.lse.data<double>()[0], -kInf);
  std::vector<double> o(expectation->want.o.data<double>(), expectation->want.o.data<double>() + 20);
  std::vector<double> lse(expectation->want.lse.data<double>(), expectation->want.lse.data<double>() + 5);
  const auto verdict = [&] {
    return judge(*expectation, View<const double>(o.data(), {1, 1, 5, 4}), View<const double>(lse.data(), {1, 1, 5}))
        ->passed();
  };
  EXPECT_TRUE(verdict());
  o[0] = static_cast<double>(values_of(*c)[0]);  // row 0 sees no key, and takes the first value all the same
  EXPECT_FALSE(verdict());
  o[0] = 0;
  lse[0] = kInf;  // as FlashAttention writes it
  EXPECT_FALSE(verdict());
}

}  // namespace
}  // namespace qkv::check
