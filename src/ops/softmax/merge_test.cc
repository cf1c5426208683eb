// Merging parts of a softmax gives the softmax of all keys, whatever the cut.
#include "src/ops/softmax/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace qkv {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kLog2e = 1.4426950408889634;

struct Part {
  double max = -kInf;
  double sum = 0;
  std::vector<double> acc = {0, 0};
  SoftmaxPart<double> part() { return {max, sum, acc.data()}; }
  void take(const SoftmaxPart<double>& from) {
    max = from.max;
    sum = from.sum;
  }
};

const std::vector<double> kScores = {0.5, -3, 700, 699.5, -kInf, 698, 2};
const std::vector<double> kValues = {1, 2, 3, 4, 5, 6, 7};  // and their squares

// The keys [begin, end) at once.
Part direct(std::size_t begin, std::size_t end, double log2_per_unit) {
  Part part;
  for (std::size_t j = begin; j < end; ++j) part.max = std::max(part.max, kScores[j]);
  for (std::size_t j = begin; j < end && part.max > -kInf; ++j) {
    const double weight = std::exp2((kScores[j] - part.max) * log2_per_unit);
    part.sum += weight;
    part.acc[0] += weight * kValues[j];
    part.acc[1] += weight * kValues[j] * kValues[j];
  }
  return part;
}

void merge_into(Part& into, Part other, double log2_per_unit) {
  SoftmaxPart<double> part = into.part();
  merge(part, other.part(), 2, log2_per_unit);
  into.take(part);
}

void expect_same(const Part& got, const Part& want) {
  EXPECT_EQ(got.max, want.max);
  EXPECT_NEAR(got.sum, want.sum, 1e-14);
  for (std::size_t c = 0; c < 2; ++c) EXPECT_NEAR(got.acc[c], want.acc[c], 1e-13);
}

TEST(SoftmaxMerge, of_two_parts_is_the_softmax_of_all_keys_at_every_cut) {
  for (const double unit : {1.0, kLog2e})
    for (std::size_t cut = 0; cut <= kScores.size(); ++cut) {
      Part left = direct(0, cut, unit);
      const Part right = direct(cut, kScores.size(), unit);
      Part other = right;
      merge_into(other, left, unit);
      merge_into(left, right, unit);
      expect_same(left, direct(0, kScores.size(), unit));
      expect_same(other, left);
    }
}

TEST(SoftmaxMerge, key_by_key_is_the_online_softmax) {
  Part row;
  for (std::size_t j = 0; j < kScores.size(); ++j) merge_into(row, direct(j, j + 1, kLog2e), kLog2e);
  expect_same(row, direct(0, kScores.size(), kLog2e));
}

TEST(SoftmaxMerge, of_no_keys_changes_no_bit) {
  Part row = direct(0, 4, 1);
  const Part before = row;
  merge_into(row, Part(), 1);
  EXPECT_EQ(row.max, before.max);
  EXPECT_EQ(row.sum, before.sum);
  EXPECT_EQ(row.acc, before.acc);
  Part empty;
  merge_into(empty, Part(), 1);
  EXPECT_EQ(empty.max, -kInf);
  EXPECT_EQ(empty.sum, 0);
  EXPECT_EQ(empty.acc, (std::vector<double>{0, 0}));
}

TEST(SoftmaxMerge, a_sink_joins_the_sum_and_carries_no_value) {
  Part row = direct(0, 2, 1);
  SoftmaxPart<double> part = row.part();
  const SoftmaxPart<double> sink{2, 1, nullptr};
  merge(part, sink, 2, 1.0);
  EXPECT_EQ(part.max, 2);
  EXPECT_NEAR(part.sum, 1 + std::exp2(0.5 - 2) + std::exp2(-5.0), 1e-15);
  EXPECT_NEAR(row.acc[0], std::exp2(0.5 - 2) + 2 * std::exp2(-5.0), 1e-15);
}

TEST(SoftmaxMerge, a_row_of_nan_stays_nan) {
  Part nan;  // scores of NaN raise no maximum
  nan.sum = std::numeric_limits<double>::quiet_NaN();
  Part row = direct(0, 2, 1);
  merge_into(row, nan, 1);
  EXPECT_TRUE(std::isnan(row.sum));
  Part infinite = direct(0, 2, 1);
  Part above;
  above.max = kInf;
  above.sum = std::numeric_limits<double>::quiet_NaN();
  merge_into(infinite, above, 1);
  EXPECT_EQ(infinite.max, kInf);
  EXPECT_TRUE(std::isnan(infinite.sum));
}

}  // namespace
}  // namespace qkv
