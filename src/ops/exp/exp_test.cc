// exp2_nonpositive and tanh_lanes against the standard library in double, on every target.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/exp/exp_test.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/ops/exp/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {

// Applies the function to each element. Constraint: `count` is a multiple of 64, both arrays aligned for any load.
template <class T>
void exp2_all(const T* x, std::size_t count, T* y) {
  const hn::ScalableTag<T> d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) hn::StoreU(exp2_nonpositive(d, hn::LoadU(d, x + i)), d, y + i);
}
template <class T>
void tanh_all(const T* x, std::size_t count, T* y) {
  const hn::ScalableTag<T> d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) hn::StoreU(tanh_lanes(d, hn::LoadU(d, x + i)), d, y + i);
}
void exp2_f32(const float* x, std::size_t count, float* y) { exp2_all(x, count, y); }
void exp2_f64(const double* x, std::size_t count, double* y) { exp2_all(x, count, y); }
void tanh_f32(const float* x, std::size_t count, float* y) { tanh_all(x, count, y); }
void tanh_f64(const double* x, std::size_t count, double* y) { tanh_all(x, count, y); }

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include "qkv/target.h"
#include "src/core/hwy_target.h"

namespace qkv {
namespace {

HWY_EXPORT(exp2_f32);
HWY_EXPORT(exp2_f64);
HWY_EXPORT(tanh_f32);
HWY_EXPORT(tanh_f64);

constexpr std::size_t kBlock = 64;  // a multiple of every target's lanes

template <class T>
using Function = void (*)(const T*, std::size_t, T*);

template <class T>
std::vector<T> apply(Function<T> function, std::vector<T> x) {
  const std::size_t count = x.size();
  x.resize((count + kBlock - 1) / kBlock * kBlock);
  std::vector<T> y(x.size());
  function(x.data(), x.size(), y.data());
  y.resize(count);
  return y;
}

// Calls test(exp2, tanh) of each available target in both types.
template <class Test>
void on_every_target(const Test& test) {
  for (Target target : available_targets()) {
    SCOPED_TRACE(std::string(to_string(target)));
    hwy::ChosenTarget chosen;
    chosen.Update(highway_bits(target));
    const std::size_t index = chosen.GetIndex();
    test(HWY_DISPATCH_TABLE(exp2_f32)[index], HWY_DISPATCH_TABLE(tanh_f32)[index]);
    test(HWY_DISPATCH_TABLE(exp2_f64)[index], HWY_DISPATCH_TABLE(tanh_f64)[index]);
  }
}

template <class T>
std::vector<T> spread(T low, T high, int count) {
  std::vector<T> x;
  for (int i = 0; i <= count; ++i) x.push_back(low + (high - low) * static_cast<T>(i) / static_cast<T>(count));
  return x;
}

// The largest |got / want − 1| in units of the type's epsilon, with want = function(x) in long double.
template <class T, class Want>
double worst_relative(const std::vector<T>& x, const std::vector<T>& got, const Want& want) {
  long double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double exact = want(static_cast<long double>(x[i]));
    if (exact == 0) continue;
    worst = std::max(worst, std::fabs(static_cast<long double>(got[i]) / exact - 1));
  }
  return static_cast<double>(worst / static_cast<long double>(std::numeric_limits<T>::epsilon()));
}

TEST(Exp2, is_within_two_epsilon_over_its_whole_range) {
  on_every_target([]<class T>(Function<T> exp2, Function<T>) {
    const T lowest = std::is_same_v<T, float> ? T(-125.9) : T(-1021.9);  // below, a target may flush
    for (T low : {T(-1), T(-30), lowest}) {
      const std::vector<T> x = spread<T>(low, 0, 20000);
      EXPECT_LE(worst_relative(x, apply(exp2, x), [](long double t) { return std::exp2(t); }), 2.0) << low;
    }
  });
}

TEST(Exp2, is_exactly_one_at_zero_and_exact_at_whole_numbers) {
  on_every_target([]<class T>(Function<T> exp2, Function<T>) {
    const std::vector<T> y = apply<T>(exp2, {0, T(-0.0), -1, -2, -10});
    EXPECT_EQ(y, (std::vector<T>{1, 1, T(0.5), T(0.25), T(1) / 1024}));
  });
}

TEST(Exp2, is_exactly_zero_far_down_and_at_minus_infinity) {
  on_every_target([]<class T>(Function<T> exp2, Function<T>) {
    const std::vector<T> y =
        apply<T>(exp2, {-std::numeric_limits<T>::infinity(), std::numeric_limits<T>::lowest(), T(-5000)});
    EXPECT_EQ(y, (std::vector<T>{0, 0, 0}));
  });
}

TEST(Exp2, keeps_nan) {
  on_every_target([]<class T>(Function<T> exp2, Function<T>) {
    EXPECT_TRUE(std::isnan(apply<T>(exp2, {std::numeric_limits<T>::quiet_NaN()})[0]));
  });
}

TEST(Tanh, is_within_four_epsilon_at_every_size_of_argument) {
  on_every_target([]<class T>(Function<T>, Function<T> tanh) {
    for (T high : {T(1e-6), T(0.1), T(0.7), T(3), T(50)}) {
      const std::vector<T> x = spread<T>(-high, high, 20001);
      EXPECT_LE(worst_relative(x, apply(tanh, x), [](long double t) { return std::tanh(t); }), 4.0) << high;
    }
  });
}

TEST(Tanh, saturates_at_infinity_and_keeps_nan) {
  on_every_target([]<class T>(Function<T>, Function<T> tanh) {
    const T infinity = std::numeric_limits<T>::infinity();
    const std::vector<T> y = apply<T>(tanh, {infinity, -infinity, 0, std::numeric_limits<T>::quiet_NaN()});
    EXPECT_EQ(y[0], 1);
    EXPECT_EQ(y[1], -1);
    EXPECT_EQ(y[2], 0);
    EXPECT_TRUE(std::isnan(y[3]));
  });
}

}  // namespace
}  // namespace qkv
#endif  // HWY_ONCE
