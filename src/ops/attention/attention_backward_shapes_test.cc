// attention_backward over lengths, widths, heads, types, layouts and sizes of zero, on every target.
#include <gtest/gtest.h>

#include "tests/attention_backward_testing.h"

namespace qkv {
namespace {

const char* const kTypes[] = {"f32", "f64", "bf16", "f16"};

class GradientTypes : public testing::TestWithParam<const char*> {
 protected:
  static std::string words() { return std::string(" ") + GetParam(); }
};

TEST_P(GradientTypes, every_key_length_around_the_tiles) {
  for (std::int64_t keys = 1; keys <= 50; ++keys)
    expect_right_gradients("attention T5x" + std::to_string(keys) + " D8/5" + words());
  for (const int keys : {95, 96, 97, 119, 120, 121, 191, 192, 193, 220, 300})
    expect_right_gradients("attention T5x" + std::to_string(keys) + " D8/5" + words());
}

TEST_P(GradientTypes, every_query_length_around_the_lanes) {
  for (const int queries : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 33, 47, 48, 49, 95, 96, 97, 145, 193})
    for (const int keys : {1, 5, 12, 13, 97})
      expect_right_gradients("attention T" + std::to_string(queries) + "x" + std::to_string(keys) + " D6/7" + words());
}

TEST_P(GradientTypes, every_width_beside_every_value_width) {
  const int widths[] = {1, 2, 3, 5, 8, 16, 33, 59, 64, 111};
  for (const int width : widths)
    for (const int value_width : widths)
      expect_right_gradients("attention T5x9 D" + std::to_string(width) + "/" + std::to_string(value_width) + words());
}

TEST_P(GradientTypes, very_wide_heads) {
  for (const char* widths : {"D256", "D576/512", "D1/576", "D576/1", "D192/128"})
    expect_right_gradients("attention H2/1 T17x70 " + std::string(widths) + words());
}

TEST_P(GradientTypes, grouped_heads_are_summed) {
  for (const char* heads : {"H6/2", "H8/1", "H4", "H9/3", "H12/4"})
    expect_right_gradients("attention B2 " + std::string(heads) + " T3x5 D7/11" + words());
}

TEST_P(GradientTypes, larger_shapes_of_several_panels) {
  expect_right_gradients("attention H2 T200x433 D64" + words());
  expect_right_gradients("attention H2/1 T230x457 D59/83 causal=bottom_right" + words());
  expect_right_gradients("attention H2/1 T457x230 D16 causal=top_left bthd" + words());
  expect_right_gradients("attention T400 D8 corner=top_left window=30,10" + words());
}

INSTANTIATE_TEST_SUITE_P(All, GradientTypes, testing::ValuesIn(kTypes),
                         [](const auto& type) { return std::string(type.param); });

TEST(GradientShapes, half_types_give_f32_on_request) {
  for (const char* type : {"bf16", "f16"})
    for (const char* rest : {"", " causal=top_left", " bthd", " keep=5x70", " bias=5x70 sinks dlse"})
      expect_right_gradients("attention B2 H2 T5x70 D16/9 " + std::string(type) + " out=f32" + rest);
}

TEST(GradientShapes, an_output_of_size_zero_is_a_success) {
  for (const char* line : {"attention B0 T3 D2", "attention H0 T3 D2", "attention T0x3 D2", "attention T0 D2",
                           "attention B0 H0 T0 D2", "attention T0x3 D2 causal=bottom_right bf16 out=f32",
                           "attention B0 H2 T3 D2 bias=1x1x3x3 sinks", "attention T0x3 D2 bias=3 sinks"})
    expect_right_gradients(line);
}

TEST(GradientShapes, without_keys_only_a_sink_has_a_gradient) {
  for (const char* line :
       {"attention B2 H2 T3x0 D2", "attention T3x0 D2 causal=bottom_right f64", "attention T50x0 D2/20 keep=1x1x50x0",
        "attention H2 T3x0 D2 sinks", "attention H2 T3x0 D2 sinks dlse", "attention T3x0 D2 bias=3x1"})
    expect_right_gradients(line);
}

TEST(GradientShapes, any_layout_stride_and_alignment) {
  for (const char* type : {"", " f64", " bf16", " f16"})
    for (const std::int64_t last_stride : {1, 2, 3})
      for (const std::int64_t shift : {0, 1, 5})
        for (const char* layout : {"", " bthd"}) {
          check::GenerateOptions options;
          options.placement = {.last_stride = last_stride, .row_gap = 3, .shift = shift};
          expect_right_gradients(
              "attention B2 H4/2 T50x230 D16/7 bias=50x230 keep=4x1x230" + std::string(type) + layout, options);
        }
}

TEST(GradientShapes, rows_far_apart_are_copied) {
  check::GenerateOptions options;
  options.placement = {.row_gap = 3000};
  expect_right_gradients("attention H2 T50x230 D16", options);
}

TEST(GradientShapes, only_what_is_asked_for_is_computed_and_has_the_same_bits) {
  const check::Case c = case_of("attention B2 H4/2 T150x300 D20/12 bias=1x150x300 sinks dlse backward bf16");
  for (const Target target : available_targets()) {
    const RanBackward all = run_backward(c, on(target));
    for (int asked = 0; asked < 32; ++asked) {
      const check::CaseGradients some = must(check::make_gradients(c.problem));
      AttentionBackwardOutputs outputs = some.views();
      if ((asked & 1) == 0) outputs.dq = {};
      if ((asked & 2) == 0) outputs.dk = {};
      if ((asked & 4) == 0) outputs.dv = {};
      if ((asked & 8) == 0) outputs.dbias = {};
      if ((asked & 16) == 0) outputs.dsinks = {};
      must(attention_backward(backward_inputs(c, all.forward), outputs, c.options(), on(target)));
      const auto expect_same = [&](const View<void>& got, const check::Placed& want) {
        if (!got.is_present()) return;
        EXPECT_EQ(bits_of(got), bits_of(want.view)) << to_string(target) << " " << asked;
      };
      expect_same(outputs.dq, all.gradients.dq);
      expect_same(outputs.dk, all.gradients.dk);
      expect_same(outputs.dv, all.gradients.dv);
      expect_same(outputs.dbias, all.gradients.dbias);
      expect_same(outputs.dsinks, all.gradients.dsinks);
    }
  }
}

}  // namespace
}  // namespace qkv
