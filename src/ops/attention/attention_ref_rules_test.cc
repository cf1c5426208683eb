// The reference's rules, pair by pair, against the ranges of keys that kernels use: two ways to write the same thing.
#include "src/ops/attention/attention_ref_rules.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "src/core/positions.h"

namespace qkv::reference {
namespace {

void expect_same_keys(const AttentionShape& shape, const AttentionOptions& options) {
  const Positions positions(shape, options);
  for (std::int64_t b = 0; b < shape.batch; ++b)
    for (std::int64_t i = 0; i < shape.query_length; ++i) {
      const KeyRange range = positions.keys(positions.sequence_of(b, i), i);
      const RowRules rules(shape, options, {b, 0, i});
      for (std::int64_t j = 0; j < shape.key_length; ++j)
        EXPECT_EQ(rules.allowed(j), j >= range.begin && j < range.end) << "b " << b << ", i " << i << ", j " << j;
    }
}

AttentionShape lengths(std::int64_t batch, std::int64_t queries, std::int64_t keys) {
  return {batch, 1, 1, queries, keys, 1, 1};
}

// Every corner, with and without causal, at every small window.
void expect_same_keys_at_every_position(const AttentionShape& shape, AttentionOptions options) {
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  for (const Corner corner : {Corner::kTopLeft, Corner::kBottomRight, Corner::kOffset})
    for (const Causality causality : {Causality::kNone, Causality::kCausal})
      for (const std::int64_t left : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{2}, kFar})
        for (const std::int64_t right : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, kFar})
          for (const std::int64_t offset : {std::int64_t{-4}, std::int64_t{1}, std::int64_t{1} << 60}) {
            options.corner = corner;
            options.offset = corner == Corner::kOffset ? offset : 0;
            options.causality = causality;
            options.window = {left, right};
            SCOPED_TRACE("corner " + std::to_string(static_cast<int>(corner)) + ", causal " +
                         std::to_string(static_cast<int>(causality)) + ", window " + std::to_string(left) + "," +
                         std::to_string(right) + ", offset " + std::to_string(options.offset));
            expect_same_keys(shape, options);
          }
}

TEST(ReferenceRules, agree_with_the_key_ranges_for_any_lengths) {
  for (std::int64_t queries = 0; queries <= 4; ++queries)
    for (std::int64_t keys = 0; keys <= 5; ++keys) expect_same_keys_at_every_position(lengths(1, queries, keys), {});
}

TEST(ReferenceRules, agree_with_the_key_ranges_under_key_lengths) {
  const std::vector<std::int64_t> key_lengths = {0, 2, 5};
  AttentionOptions options;
  options.key_lengths = key_lengths;
  expect_same_keys_at_every_position(lengths(3, 4, 5), options);
}

TEST(ReferenceRules, agree_with_the_key_ranges_in_packed_sequences) {
  const std::vector<std::int64_t> queries = {0, 2, 2, 3, 6};
  const std::vector<std::int64_t> keys = {0, 3, 4, 4, 7};
  const std::vector<std::int64_t> length = {6};
  AttentionOptions options;
  options.cu_seqlens_q = queries;
  options.cu_seqlens_k = keys;
  expect_same_keys_at_every_position(lengths(1, 6, 7), options);
  options.key_lengths = length;
  expect_same_keys_at_every_position(lengths(1, 6, 7), options);
}

TEST(ReferenceRules, masks_and_positions_are_a_conjunction) {
  const bool keep[] = {true, false, true, true};
  const bool padding[] = {true, true, false, true};
  const double bias[] = {0, 0, 0, -std::numeric_limits<double>::infinity()};
  AttentionOptions options;
  options.keep = View<const bool>(keep, {4});
  options.key_mask = View<const bool>(padding, {1, 4});
  options.bias = View<const double>(bias, {1, 4});
  const AttentionShape shape = lengths(1, 1, 4);
  const RowRules rules(shape, options, {0, 0, 0});
  EXPECT_TRUE(rules.allowed(0));
  for (const std::int64_t j : {1, 2, 3}) EXPECT_FALSE(rules.allowed(j)) << j;
}

TEST(ReferenceRules, slopes_pull_down_by_the_distance_and_biases_add) {
  const double bias[] = {0.25, 0.25, 0.25};
  const std::vector<double> slopes = {0.5};
  AttentionOptions options;
  options.bias = View<const double>(bias, {3});
  options.slopes = slopes;
  options.corner = Corner::kOffset;
  options.offset = 1;
  const AttentionShape shape = lengths(1, 1, 3);
  const RowRules rules(shape, options, {0, 0, 0});
  EXPECT_EQ(rules.bias(0), -0.25);
  EXPECT_EQ(rules.bias(1), 0.25);
  EXPECT_EQ(rules.bias(2), -0.25);
}

}  // namespace
}  // namespace qkv::reference
