// attention_forward over lengths, widths, heads, types and sizes of zero, on every target.
#include <gtest/gtest.h>

#include "tests/attention_testing.h"

namespace qkv {
namespace {

const char* const kTypes[] = {"f32", "f64", "bf16", "f16"};

// Around every lane count (1 2 4 8 16) and tile (3 to 48 queries, 64 keys).
constexpr std::int64_t kQueryLengths[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 33, 47, 48, 49, 95, 96, 97};

class AttentionTypes : public testing::TestWithParam<const char*> {
 protected:
  static std::string words() { return std::string(" ") + GetParam(); }
};

TEST_P(AttentionTypes, every_key_length_around_the_tiles) {
  for (std::int64_t keys = 1; keys <= 130; ++keys)
    expect_right("attention T5x" + std::to_string(keys) + " D8/5" + words());
}

TEST_P(AttentionTypes, every_query_length_around_the_lanes) {
  for (const std::int64_t queries : kQueryLengths)
    for (const std::int64_t keys : {1, 5, 63, 64, 65})
      expect_right("attention T" + std::to_string(queries) + "x" + std::to_string(keys) + " D6/7" + words());
}

TEST_P(AttentionTypes, every_width_beside_every_value_width) {
  const std::int64_t widths[] = {1, 2, 3, 5, 7, 8, 16, 33, 40, 59, 64, 111, 128};
  for (const std::int64_t width : widths)
    for (const std::int64_t value_width : widths)
      expect_right("attention T5x9 D" + std::to_string(width) + "/" + std::to_string(value_width) + words());
}

TEST_P(AttentionTypes, very_wide_heads) {
  for (const char* widths : {"D256", "D576", "D576/512", "D1/576", "D576/1", "D192/128"})
    expect_right("attention H2/1 T17x70 " + std::string(widths) + words());
}

TEST_P(AttentionTypes, grouped_heads_read_their_own_group) {
  for (const char* heads : {"H6/2", "H8/1", "H4", "H9/3", "H12/4"})
    expect_right("attention B2 " + std::string(heads) + " T3x5 D7/11" + words());
}

TEST_P(AttentionTypes, the_first_probe_of_the_checker) { expect_right("attention B2 H6/2 T3x5 D7/11" + words()); }

TEST_P(AttentionTypes, larger_shapes_of_several_tiles) {
  expect_right("attention H2 T200x333 D64" + words());
  expect_right("attention H2/1 T130x257 D59/83 causal=bottom_right" + words());
}

INSTANTIATE_TEST_SUITE_P(All, AttentionTypes, testing::ValuesIn(kTypes),
                         [](const auto& type) { return std::string(type.param); });

TEST(AttentionShapes, half_types_give_f32_on_request) {
  for (const char* type : {"bf16", "f16"})
    for (const char* rest : {"", " causal=top_left", " bthd", " keep=5x70"})
      expect_right("attention B2 H2 T5x70 D16/9 " + std::string(type) + " out=f32" + rest);
}

TEST(AttentionShapes, flash_attention_width_list) {
  for (const int width : {32, 40, 59, 64, 96, 111, 128, 160, 192, 224, 256})
    expect_right("attention H2 T33x65 D" + std::to_string(width) + " causal=bottom_right");
}

TEST(AttentionShapes, flash_attention_length_list) {
  for (const char* lengths : {"T1x147", "T113x203", "T128x217", "T113x211", "T108x256", "T256x512", "T64x128"})
    for (const char* mask : {"", " causal=bottom_right", " causal=top_left"})
      expect_right("attention " + std::string(lengths) + " D32" + mask);
}

TEST(AttentionShapes, an_output_of_size_zero_is_a_success) {
  for (const char* line : {"attention B0 T3 D2", "attention H0 T3 D2", "attention T0x3 D2", "attention T0 D2",
                           "attention B0 H0 T0 D2", "attention T0x3 D2 causal=bottom_right bf16 out=f32"})
    expect_right(line);
}

TEST(AttentionShapes, without_keys_every_row_is_empty) {
  for (const char* line : {"attention B2 H2 T3x0 D2", "attention T3x0 D2 causal=bottom_right f64",
                           "attention T50x0 D2/20 keep=1x1x50x0 bf16"})
    expect_right(line);
  const check::Case c = case_of("attention H2 T3x0 D2/5");
  const Ran ran = run_case(c, {});
  for (const unsigned char byte : ran.o_bits()) EXPECT_EQ(byte, 0);
}

TEST(AttentionShapes, without_keys_a_sink_takes_all_the_weight) { expect_right("attention H2 T3x0 D2 sinks"); }

TEST(AttentionShapes, one_key_has_the_weight_one) {
  for (const Target target : available_targets())
    for (const char* line :
         {"attention T7x1 D5 scale=1000", "attention T7x1 D5 scale=1e30", "attention T7x1 D64 f64"}) {
      const check::Case c = case_of(line);
      const Ran ran = run_case(c, on(target));
      const std::vector<unsigned char> value = bits_of(c.v.view);
      const std::vector<unsigned char> o = ran.o_bits();
      for (std::size_t row = 0; row < 7; ++row)
        EXPECT_TRUE(std::equal(value.begin(), value.end(), o.begin() + static_cast<std::ptrdiff_t>(row * value.size())))
            << line << " on " << to_string(target) << " row " << row;
    }
}

TEST(AttentionShapes, lse_is_optional) {
  const check::Case c = case_of("attention B2 H2 T5x7 D4/3");
  const Ran both = run_case(c, {});
  check::CaseOutputs only = must(check::make_outputs(c.problem));
  ASSERT_FALSE(only.lse.view.is_present());
  ASSERT_TRUE(attention_forward(c.inputs(), only.views(), c.options()).is_ok());
  EXPECT_EQ(bits_of(only.o.view), both.o_bits());
}

}  // namespace
}  // namespace qkv
