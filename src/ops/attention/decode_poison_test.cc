// What a decode step may not see changes no bit: slots past the lengths, pages of nobody, keys that a mask hides.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/ops/attention/attention_ref_rules.h"
#include "tests/decode_testing.h"

namespace qkv {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// make_cache() fills every slot that holds no token, and every page of nobody, with NaN: that alone would show in the
// tests of decode_test.cc. Here other poisons, and keys that are hidden.
void fill(View<void> view, std::int64_t outer, std::int64_t head, std::int64_t slot, double value) {
  for (std::int64_t c = 0; c < view.shape[3]; ++c)
    set_element(view, outer * view.strides[0] + head * view.strides[1] + slot * view.strides[2] + c, value);
}

check::Case masked_case(const std::string& words, const char* type) {
  check::GenerateOptions options;
  options.hidden_bias = 0.3;
  return case_of("attention B2 H4/2 D16/32 causal=bottom_right " + words + type, options);
}

class DecodePoison : public testing::TestWithParam<const char*> {};

TEST_P(DecodePoison, in_keys_that_nobody_sees_changes_no_bit) {
  int filled = 0;
  for (const char* words : {"T1x96 lengths=96,41", "T1x96 lengths=96,41 key_mask", "T5x96 lengths=96,41 keep=96",
                            "T5x96 lengths=96,41 keep=5x96", "T3x96 lengths=90,41 window=3,0", "T4x96 bias=96",
                            "T4x96 bias=4x4x96 lengths=9,96 softcap=2 sinks slopes"}) {
    const check::Case c = masked_case(words, GetParam());
    const AttentionOptions options = forward_options(c);
    const AttentionShape shape = must(check_attention(c.inputs(), options, TypeRule::kSameType));
    const CacheForm form{0, DType::kF32, false};
    for (const Target target : available_targets()) {
      TestCache clean = make_cache(c, form);
      const Ran want = run_decode(c, clean, form, on(target));
      for (const double poison : {std::numeric_limits<double>::quiet_NaN(), kInf, -kInf, 1e30}) {
        TestCache cache = make_cache(c, form);
        for (std::int64_t b = 0; b < 2; ++b)
          for (std::int64_t kv_head = 0; kv_head < 2; ++kv_head)
            for (std::int64_t j = 0; j < shape.key_length; ++j) {
              bool seen = false;
              for (std::int64_t h = kv_head * 2; h < kv_head * 2 + 2; ++h)
                for (std::int64_t i = 0; i < shape.query_length; ++i)
                  seen |= reference::RowRules(shape, options, {b, h, i}).allowed(j);
              if (seen) continue;
              fill(cache.k.view, b, kv_head, j, poison);
              fill(cache.v.view, b, kv_head, j, poison);
              ++filled;
            }
        const Ran got = run_decode(c, cache, form, on(target));
        EXPECT_EQ(got.o_bits(), want.o_bits()) << format(c.problem) << " on " << to_string(target) << " " << poison;
        EXPECT_EQ(got.lse_bits(), want.lse_bits()) << format(c.problem) << " on " << to_string(target) << " " << poison;
      }
    }
  }
  EXPECT_GT(filled, 500);
}

TEST_P(DecodePoison, that_is_seen_reaches_its_own_rows_only) {
  for (const char* words : {"T5x96", "T5x96 keep=5x96", "T5x96 window=3,0", "T5x96 key_mask softcap=3"})
    for (const std::int64_t j : {3, 92, 93, 95})
      for (const bool in_values : {false, true})
        for (const double poison : {std::numeric_limits<double>::quiet_NaN(), kInf}) {
          const check::Case c = masked_case(words, GetParam());
          const AttentionOptions options = forward_options(c);
          const AttentionShape shape = must(check_attention(c.inputs(), options, TypeRule::kSameType));
          const CacheForm form{0, DType::kF32, false};
          for (const Target target : available_targets()) {
            TestCache clean = make_cache(c, form);
            const Ran want = run_decode(c, clean, form, on(target));
            TestCache cache = make_cache(c, form);
            fill(in_values ? cache.v.view : cache.k.view, 1, 0, j, poison);
            const Ran got = run_decode(c, cache, form, on(target));
            for (std::int64_t row = 0; row < 2 * 4 * 5; ++row) {
              const std::int64_t b = row / 20, h = row / 5 % 4, i = row % 5;
              const bool own = b == 1 && h < 2 && reference::RowRules(shape, options, {b, h, i}).allowed(j);
              for (std::int64_t at = row * 32; at < row * 32 + 32; ++at) {
                const double value = element_as_double(got.outputs.o.view, at);
                if (!own) {
                  EXPECT_EQ(value, element_as_double(want.outputs.o.view, at))
                      << words << " row " << row << " key " << j;
                } else if (std::isnan(poison)) {
                  EXPECT_TRUE(std::isnan(value)) << words << " row " << row << " key " << j;
                }
              }
            }
          }
        }
}

INSTANTIATE_TEST_SUITE_P(Types, DecodePoison, testing::Values(" f32", " f64", " bf16", " f16"),
                         [](const auto& type) { return std::string(type.param).substr(1); });

}  // namespace
}  // namespace qkv
