// The float64 softmax of a row at its corners.
#include "src/ops/softmax/softmax_ref.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace qkv::reference {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Row {
  std::vector<double> p;
  RowSum sum;
};

Row softmax(const std::vector<double>& scores, double sink = kHidden) {
  Row row{std::vector<double>(scores.size(), -1), {}};
  row.sum = softmax_row(scores.data(), static_cast<std::int64_t>(scores.size()), sink, row.p.data());
  return row;
}

TEST(SoftmaxReference, gives_weights_that_sum_to_1_and_the_natural_lse) {
  const Row row = softmax({1, 2, 3});
  EXPECT_NEAR(row.p[0], 0.09003057317038046, 1e-16);
  EXPECT_NEAR(row.p[1], 0.24472847105479764, 1e-16);
  EXPECT_NEAR(row.p[2], 0.6652409557748218, 1e-15);
  EXPECT_NEAR(row.sum.lse, 3.4076059644443806, 1e-15);
  EXPECT_EQ(row.sum.p_sink, 0);
}

TEST(SoftmaxReference, neither_overflows_nor_loses_every_term) {
  for (const double size : {1e4, -1e4, 1e300, -1e300, std::numeric_limits<double>::max()}) {
    const Row row = softmax({size, size});
    EXPECT_EQ(row.p, (std::vector<double>{0.5, 0.5})) << size;
  }
  EXPECT_EQ(softmax({-745}).p, std::vector<double>{1});
}

TEST(SoftmaxReference, what_is_hidden_has_weight_0_and_a_row_of_it_is_empty) {
  const Row row = softmax({kHidden, 5, kHidden});
  EXPECT_EQ(row.p, (std::vector<double>{0, 1, 0}));
  const Row empty = softmax({kHidden, kHidden});
  EXPECT_EQ(empty.p, (std::vector<double>{0, 0}));
  EXPECT_EQ(empty.sum.lse, kHidden);
  EXPECT_EQ(softmax({}).sum.lse, kHidden);
}

TEST(SoftmaxReference, a_sink_takes_its_share_and_fills_an_empty_row) {
  const Row row = softmax({0}, 0);
  EXPECT_EQ(row.p[0], 0.5);
  EXPECT_EQ(row.sum.p_sink, 0.5);
  EXPECT_NEAR(row.sum.lse, std::log(2), 1e-16);
  const Row alone = softmax({kHidden}, 3);
  EXPECT_EQ(alone.p[0], 0);
  EXPECT_EQ(alone.sum.p_sink, 1);
  EXPECT_EQ(alone.sum.lse, 3);
}

TEST(SoftmaxReference, a_nan_or_plus_infinity_reaches_all_of_the_row_that_is_seen) {
  for (const double bad : {kNaN, -kHidden}) {
    const Row row = softmax({1, bad, kHidden});
    EXPECT_TRUE(std::isnan(row.p[1])) << bad;
    EXPECT_EQ(row.p[2], 0) << bad;
    EXPECT_TRUE(std::isnan(row.sum.lse)) << bad;
  }
  EXPECT_TRUE(std::isnan(softmax({1}, kNaN).p[0]));
}

}  // namespace
}  // namespace qkv::reference
