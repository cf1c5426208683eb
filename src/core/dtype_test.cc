// The 16-bit floats: exact widening, one rounding to nearest even.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "qkv/tensor.h"
#include "src/core/random.h"

namespace qkv {
namespace {

// The value of a bit pattern from the format's definition, in double.
double f16_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double mantissa = bits & 1023;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  return sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

TEST(F16, widens_every_pattern_to_its_value_and_narrows_it_back) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const f16 half{static_cast<std::uint16_t>(bits)};
    const double value = f16_value(half.bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(half)));
      EXPECT_TRUE(std::isnan(to_float(to_f16(to_float(half)))));
      continue;
    }
    ASSERT_EQ(static_cast<double>(to_float(half)), value) << bits;
    ASSERT_EQ(to_f16(to_float(half)).bits, half.bits);
    ASSERT_EQ(to_f16(value).bits, half.bits);
  }
}

// Whether `got` is nearest to value among its neighbours, ties to even.
template <class Half>
bool is_nearest(double value, Half got) {
  const Half below{static_cast<std::uint16_t>(got.bits - 1)};
  const Half above{static_cast<std::uint16_t>(got.bits + 1)};
  const double here = std::fabs(value - static_cast<double>(to_float(got)));
  for (const Half other : {below, above}) {
    const double there = std::fabs(value - static_cast<double>(to_float(other)));
    if (there < here || (there == here && (got.bits & 1) != 0)) return false;
  }
  return true;
}

TEST(Narrowing, from_double_rounds_once_to_the_nearest) {
  const RandomStream random(3, 0);
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const double value = random.normal(2 * i) * std::exp2(20 * random.uniform(2 * i + 1) - 14);
    ASSERT_TRUE(is_nearest(value, to_bf16(value))) << value;
    if (std::fabs(value) < 60000) {
      ASSERT_TRUE(is_nearest(value, to_f16(value))) << value;
    }
  }
}

TEST(Narrowing, from_double_does_not_round_twice) {
  // Just above the middle of two f16 neighbours, by less than f32 can see: through f32 it would fall to the even one.
  const double middle = 1 + std::ldexp(1, -11);
  EXPECT_EQ(to_f16(middle).bits, to_f16(1.0).bits);
  EXPECT_EQ(to_f16(middle + std::ldexp(1, -40)).bits, to_f16(1.0).bits + 1);
  const double middle_bf16 = 1 + std::ldexp(1, -8);
  EXPECT_EQ(to_bf16(middle_bf16).bits, to_bf16(1.0).bits);
  EXPECT_EQ(to_bf16(middle_bf16 + std::ldexp(1, -40)).bits, to_bf16(1.0).bits + 1);
}

TEST(Narrowing, overflows_to_infinity_and_keeps_nan_and_sign) {
  EXPECT_EQ(to_f16(65520.0f).bits, 0x7C00);
  EXPECT_EQ(to_f16(65519.0f).bits, 0x7BFF);
  EXPECT_EQ(to_f16(-1e300).bits, 0xFC00);
  EXPECT_EQ(to_bf16(-1e300).bits, 0xFF80);
  EXPECT_EQ(to_f16(-0.0f).bits, 0x8000);
  EXPECT_TRUE(std::isnan(to_float(to_bf16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(to_float(to_f16(std::nan("")))));
  EXPECT_EQ(to_f16(std::ldexp(1.0, -26)).bits, 0);  // below half of the smallest subnormal
  EXPECT_EQ(to_f16(std::ldexp(1.5, -25)).bits, 1);
}

TEST(DType, names_round_trip_and_an_unknown_one_lists_them) {
  for (DType dtype :
       {DType::kF64, DType::kF32, DType::kBF16, DType::kF16, DType::kBool, DType::kU8, DType::kI32, DType::kI64})
    EXPECT_EQ(*parse_dtype(to_string(dtype)), dtype);
  EXPECT_EQ(parse_dtype("float").status().message(),
            "unknown element type 'float'; expected one of: f64 f32 bf16 f16 bool u8 i32 i64");
}

}  // namespace
}  // namespace qkv
