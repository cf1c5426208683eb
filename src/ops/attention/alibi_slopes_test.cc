// ALiBi's slopes against the values in the paper and its code.
#include "src/ops/attention/alibi_slopes.h"

#include <gtest/gtest.h>

#include <cmath>

namespace qkv {
namespace {

TEST(AlibiSlopes, eight_heads_get_one_half_to_one_256th) {
  const std::vector<double> slopes = alibi_slopes(8);
  ASSERT_EQ(slopes.size(), 8u);
  for (int h = 0; h < 8; ++h) EXPECT_EQ(slopes[static_cast<std::size_t>(h)], std::exp2(-(h + 1)));
}

TEST(AlibiSlopes, twelve_heads_take_every_other_slope_of_sixteen_after_those_of_eight) {
  const std::vector<double> slopes = alibi_slopes(12);
  ASSERT_EQ(slopes.size(), 12u);
  EXPECT_EQ(slopes[7], std::exp2(-8.0));
  EXPECT_EQ(slopes[8], std::exp2(-0.5));
  EXPECT_EQ(slopes[11], std::exp2(-3.5));
}

TEST(AlibiSlopes, any_number_of_heads_gets_as_many_slopes) {
  for (std::int64_t heads = 0; heads < 40; ++heads)
    EXPECT_EQ(static_cast<std::int64_t>(alibi_slopes(heads).size()), heads);
}

}  // namespace
}  // namespace qkv
