// What may not be seen changes no bit; what may be seen reaches its own rows and no other.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/attention_sight.h"
#include "tests/attention_testing.h"

namespace qkv {
namespace {

class AttentionPoison : public testing::TestWithParam<const char*> {};

TEST_P(AttentionPoison, in_what_nobody_sees_changes_no_bit) {
  int filled = 0;
  for (const char* mask : kMasks) {
    check::Case c = masked_case(mask, GetParam());
    for (const Target target : available_targets()) {
      const check::Case clean = masked_case(mask, GetParam());
      const Ran want = run_case(clean, on(target));
      for (const double poison : kPoisons) {
        filled += poison_unseen(c, poison);
        const Ran got = run_case(c, on(target));
        EXPECT_EQ(got.o_bits(), want.o_bits()) << format(c.problem) << " on " << to_string(target) << ", " << poison;
        EXPECT_EQ(got.lse_bits(), want.lse_bits())
            << format(c.problem) << " on " << to_string(target) << ", " << poison;
      }
    }
  }
  EXPECT_GT(filled, 1000);  // the masks do hide keys
}

// Rows that see the poisoned key are what the reference makes of them; the others keep every bit.
void expect_own_rows_only(const check::Case& clean, const check::Case& poisoned, std::int64_t b, std::int64_t kv_head,
                          std::int64_t j, bool must_be_nan) {
  const Sight sight(clean);
  const AttentionShape& shape = sight.shape();
  for (const Target target : available_targets()) {
    const Ran want = run_case(clean, on(target));
    const Ran got = run_case(poisoned, on(target));
    const auto row_bytes =
        static_cast<std::ptrdiff_t>(want.o_bits().size()) / (shape.batch * shape.query_heads * shape.query_length);
    const std::vector<unsigned char> got_bits = got.o_bits(), want_bits = want.o_bits();
    std::ptrdiff_t row = 0;
    for (std::int64_t rb = 0; rb < shape.batch; ++rb)
      for (std::int64_t h = 0; h < shape.query_heads; ++h)
        for (std::int64_t i = 0; i < shape.query_length; ++i, ++row) {
          const bool own = rb == b && h / shape.group() == kv_head && sight.sees(rb, h, i, j);
          const auto at = got_bits.begin() + row * row_bytes;
          if (!own) {
            EXPECT_TRUE(std::equal(at, at + row_bytes, want_bits.begin() + row * row_bytes))
                << format(clean.problem) << " on " << to_string(target) << ": row " << rb << "," << h << "," << i
                << " changed by key " << j << " that it may not see";
          } else if (must_be_nan) {
            EXPECT_TRUE(std::isnan(element_as_double(got.outputs.o.view, row * shape.value_width)))
                << format(clean.problem) << " on " << to_string(target) << ": row " << rb << "," << h << "," << i;
          }
        }
  }
}

TEST_P(AttentionPoison, that_is_seen_reaches_its_own_rows_only) {
  for (const char* mask : kMasks)
    for (const double poison : {std::numeric_limits<double>::quiet_NaN(), kInf, -kInf})
      for (const std::int64_t j : {0, 2, 37}) {
        const check::Case clean = masked_case(mask, GetParam());
        if (j >= clean.problem.key_length) continue;
        const bool nan = std::isnan(poison);
        check::Case key = masked_case(mask, GetParam());
        fill_row(key.k.view, 1, 0, j, poison);
        expect_own_rows_only(clean, key, 1, 0, j, nan);
        check::Case value = masked_case(mask, GetParam());
        fill_row(value.v.view, 1, 0, j, poison);
        expect_own_rows_only(clean, value, 1, 0, j, nan);
      }
}

TEST_P(AttentionPoison, in_a_query_stays_in_its_row) {
  for (const char* mask :
       {"T49x70 causal=top_left", "T49x70", "T5x3 causal=bottom_right", "T49x70 keep=49x70 softcap=3"}) {
    const check::Case clean = masked_case(mask, GetParam());
    check::Case poisoned = masked_case(mask, GetParam());
    fill_row(poisoned.q.view, 1, 2, 3, std::numeric_limits<double>::quiet_NaN());
    constexpr std::int64_t kHurtHead = 6;  // of B2 H4: batch 1, head 2
    const std::int64_t hurt = kHurtHead * clean.problem.query_length + 3;
    for (const Target target : available_targets()) {
      const Ran want = run_case(clean, on(target));
      const Ran got = run_case(poisoned, on(target));
      const std::int64_t width = clean.problem.value_width;
      for (std::int64_t at = 0; at < element_count(got.outputs.o.view.shape); ++at) {
        if (at / width == hurt) continue;
        EXPECT_EQ(element_as_double(got.outputs.o.view, at), element_as_double(want.outputs.o.view, at))
            << format(clean.problem) << " on " << to_string(target) << " at " << at;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, AttentionPoison, testing::Values(" f32", " f64", " bf16", " f16"),
                         [](const auto& type) { return std::string(type.param).substr(1); });

TEST(AttentionPoisonBias, behind_another_mask_changes_no_bit) {
  const std::string line = "attention B2 H2 T17x70 D5 keep=17x70 causal=top_left bias=17x70";
  const check::Case clean = case_of(line);
  for (const double poison : kPoisons) {
    check::Case c = case_of(line);
    const Sight sight(c);
    for (std::int64_t i = 0; i < 17; ++i)
      for (std::int64_t j = 0; j < 70; ++j)
        if (!sight.sees(0, 0, i, j)) set_element(c.bias.view, i * 70 + j, poison);
    for (const Target target : available_targets())
      EXPECT_EQ(run_case(c, on(target)).o_bits(), run_case(clean, on(target)).o_bits()) << to_string(target) << poison;
  }
}

TEST(AttentionPoisonBias, of_nan_that_is_seen_reaches_its_own_row_only) {
  // Element 217 of [17,70] is row 3, key 7.
  const std::string line = "attention T17x70 D5 causal=bottom_right bias=17x70";
  const check::Case clean = case_of(line);
  check::Case c = case_of(line);
  set_element(c.bias.view, 217, std::numeric_limits<double>::quiet_NaN());
  for (const Target target : available_targets()) {
    const Ran want = run_case(clean, on(target));
    const Ran got = run_case(c, on(target));
    for (std::int64_t at = 0; at < std::int64_t{17} * 5; ++at) {
      const double o = element_as_double(got.outputs.o.view, at);
      if (at / 5 == 3)
        EXPECT_TRUE(std::isnan(o)) << to_string(target);
      else
        EXPECT_EQ(o, element_as_double(want.outputs.o.view, at)) << to_string(target);
    }
  }
}

TEST(AttentionInfinity, a_score_of_minus_infinity_weighs_nothing_and_a_row_of_them_is_empty) {
  for (const std::string mask : {"", " causal=top_left", " keep=3x70"}) {
    check::Case c = case_of("attention T3x70 D1 lse" + mask);
    for (std::int64_t j = 0; j < 70; ++j) set_element(c.k.view, j, j == 40 ? 1.0 : -1.0);
    set_element(c.q.view, 0, std::numeric_limits<double>::infinity());   // sees only -inf, until key 40's +inf
    set_element(c.q.view, 1, -std::numeric_limits<double>::infinity());  // +inf everywhere but at key 40
    expect_right(c);
    set_element(c.k.view, 40, -1.0);
    expect_right(c);
  }
}

}  // namespace
}  // namespace qkv
