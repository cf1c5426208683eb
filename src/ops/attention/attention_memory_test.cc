// Layouts, strides, misalignment, what lies around the tensors, and offsets beyond 32 bits, on every target.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>

#include "tests/attention_testing.h"

namespace qkv {
namespace {

const char* const kTypes[] = {"", " f64", " bf16", " f16"};

TEST(AttentionMemory, both_layouts_give_the_same_bits) {
  for (const char* type : kTypes)
    for (const char* rest : {"", " causal=bottom_right", " keep=17x70"}) {
      const std::string line = "attention B2 H6/2 T17x70 D7/11" + std::string(rest) + type;
      expect_right(line + " bthd");
      for (const Target target : available_targets())
        EXPECT_EQ(run_case(case_of(line + " bthd"), on(target)).o_bits(), run_case(case_of(line), on(target)).o_bits());
    }
}

// Inputs with NaN in every gap and outputs whose gaps are canaries.
TEST(AttentionMemory, any_placement_gives_the_same_bits_and_touches_nothing_else) {
  const check::Placement placements[] = {
      {.shift = 1},
      {.shift = 3},
      {.row_gap = 1},
      {.row_gap = 5, .shift = 1},
      {.row_gap = 64},
      {.last_stride = 2},
      {.last_stride = 3, .row_gap = 2, .shift = 1},
      {.last_stride = 17},
  };
  for (const char* type : kTypes)
    for (const char* rest :
         {" T17x70 D7/11", " T49x65 D16 causal=bottom_right", " T3x130 D33/1 keep=1x1x3x130 bias=4x1x130 key_mask bthd",
          " T5x7 D1/8 window=2,1 corner=top_left bthd", " T97x16 D8/16 lengths=7,16"}) {
      const std::string line = "attention B2 H4/2" + std::string(rest) + type;
      const check::Case plain = case_of(line);
      for (const check::Placement& placement : placements) {
        check::GenerateOptions options;
        options.placement = placement;
        const check::Case moved = case_of(line, options);
        expect_right(moved, placement);
        for (const Target target : available_targets()) {
          const Ran got = run_case(moved, on(target), placement);
          const Ran want = run_case(plain, on(target));
          EXPECT_EQ(got.o_bits(), want.o_bits()) << line << " on " << to_string(target);
          EXPECT_EQ(got.lse_bits(), want.lse_bits()) << line << " on " << to_string(target);
        }
      }
    }
}

TEST(AttentionMemory, inputs_may_have_strides_of_zero) {
  const check::Case one = case_of("attention B1 H1 T1x1 D5/3");
  check::Case c = case_of("attention B2 H4/2 T17x70 D5/3 keep=17x70");
  const auto spread = [](View<void> view, std::int64_t batch, std::int64_t heads, std::int64_t tokens) {
    return View<void>(view.data, view.dtype, {batch, heads, tokens, view.shape[3]}, {0, 0, 0, 1});
  };
  c.q.view = spread(one.q.view, 2, 4, 17);
  c.k.view = spread(one.k.view, 2, 2, 70);
  expect_right(c);
  c.v.view = spread(one.v.view, 2, 2, 70);
  expect_right(c);
}

TEST(AttentionMemory, a_last_stride_of_zero_repeats_one_number) {
  check::Case c = case_of("attention H2 T5x7 D4/3");
  c.k.view.strides[3] = 0;
  c.v.view.strides[3] = 0;
  expect_right(c);
}

TEST(AttentionMemory, masks_and_biases_may_have_any_stride) {
  check::Case c = case_of("attention B2 H3 T7x70 D4 keep=2x3x7x70 bias=2x3x7x70");
  c.keep.view = View<void>(c.keep.view.data, DType::kBool, {2, 3, 7, 70}, {0, 70, 0, 1});
  c.bias.view = View<void>(c.bias.view.data, DType::kF32, {7, 70}, {1, 7});  // transposed
  expect_right(c);
}

TEST(AttentionMemory, views_into_one_fused_buffer) {
  // q, k and v side by side in [B,T,3·H·D], as a fused projection leaves them.
  constexpr std::int64_t kBatch = 2, kTokens = 21, kHeads = 3, kWidth = 8;
  constexpr std::int64_t kRow = 3 * kHeads * kWidth;
  check::Case c = case_of("attention B2 H3 T21 D8 causal");
  const check::Case fused = case_of("attention B2 H1 T21 D72 seed=9");
  const auto part = [&](std::int64_t which) {
    return View<void>(static_cast<float*>(fused.q.view.data) + which * kHeads * kWidth, DType::kF32,
                      {kBatch, kHeads, kTokens, kWidth}, {kTokens * kRow, kWidth, kRow, 1});
  };
  c.q.view = part(0);
  c.k.view = part(1);
  c.v.view = part(2);
  expect_right(c);
}

// Address space without memory behind it: pages that are only read cost nothing.
class SparseFloats {
 public:
  explicit SparseFloats(std::int64_t count)
      : bytes_(static_cast<std::size_t>(count) * sizeof(float)),
        memory_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  SparseFloats(const SparseFloats&) = delete;
  SparseFloats& operator=(const SparseFloats&) = delete;
  ~SparseFloats() {
    if (is_mapped()) munmap(memory_, bytes_);
  }
  bool is_mapped() const { return memory_ != MAP_FAILED; }
  float* data() const { return static_cast<float*>(memory_); }

 private:
  std::size_t bytes_;
  void* memory_;
};

// 225,304 rows of stride 9728 is a real case: element offsets pass 2^31, byte offsets 2^33.
constexpr std::int64_t kRows = 225304;
constexpr std::int64_t kStride = 9728;

TEST(AttentionMemory, key_offsets_beyond_32_bits_are_right) {
  const SparseFloats keys(kRows * kStride), values(kRows * kStride);
  if (!keys.is_mapped() || !values.is_mapped()) GTEST_SKIP() << "no address space for 2 x 8.8 GB";
  const float q[] = {1, 0};
  keys.data()[(kRows - 1) * kStride] = 60;
  values.data()[(kRows - 1) * kStride] = 7;
  const AttentionInputs inputs{View<const float>(q, {1, 1, 1, 2}),
                               View<const float>(keys.data(), {1, 1, kRows, 2}, {0, 0, kStride, 1}),
                               View<const float>(values.data(), {1, 1, kRows, 1}, {0, 0, kStride, 1})};
  AttentionOptions options;
  options.scale = 1;
  for (const Target target : available_targets()) {
    float o = 0;
    ASSERT_TRUE(attention_forward(inputs, {View<float>(&o, {1, 1, 1, 1}), {}}, options, on(target)).is_ok());
    EXPECT_NEAR(o, 7, 1e-5) << to_string(target);
  }
}

TEST(AttentionMemory, query_offsets_beyond_32_bits_are_right) {
  const SparseFloats queries(kRows * kStride);
  if (!queries.is_mapped()) GTEST_SKIP() << "no address space for 8.8 GB";
  queries.data()[(kRows - 1) * kStride] = 1;
  const float k[] = {60, 0, 0, 0};
  const float v[] = {7, 1};
  const AttentionInputs inputs{View<const float>(queries.data(), {1, 1, kRows, 2}, {0, 0, kStride, 1}),
                               View<const float>(k, {1, 1, 2, 2}), View<const float>(v, {1, 1, 2, 1})};
  AttentionOptions options;
  options.scale = 1;
  std::vector<float> o(static_cast<std::size_t>(kRows));
  for (const Target target : available_targets()) {
    ASSERT_TRUE(attention_forward(inputs, {View<float>(o.data(), {1, 1, kRows, 1}), {}}, options, on(target)).is_ok());
    EXPECT_NEAR(o.back(), 7, 1e-5) << to_string(target);
    EXPECT_NEAR(o.front(), 4, 1e-5) << to_string(target);
  }
}

TEST(AttentionMemory, output_offsets_beyond_32_bits_are_right) {
  const SparseFloats outputs(3 * kRows * kStride);
  if (!outputs.is_mapped()) GTEST_SKIP() << "no address space for 26 GB";
  const check::Case c = case_of("attention B2 H2 T3x5 D4/1");
  const Ran want = run_case(c, {});
  View<void> o = want.outputs.o.view;
  o = View<void>(outputs.data(), DType::kF32, o.shape, {kRows * kStride, kRows * kStride / 2, kStride, 1});
  ASSERT_TRUE(attention_forward(c.inputs(), {o, {}}, c.options()).is_ok());
  EXPECT_EQ(bits_of(o), want.o_bits());
}

TEST(AttentionMemory, mask_offsets_beyond_32_bits_are_right) {
  const SparseFloats mask(kRows * kStride / 4);  // bytes
  const SparseFloats bias(kRows * kStride);
  if (!mask.is_mapped() || !bias.is_mapped()) GTEST_SKIP() << "no address space for 11 GB";
  check::Case c = case_of("attention T2x3 D4/1 keep=2x3 bias=2x3");
  const check::Case before = case_of("attention T2x3 D4/1 keep=2x3 bias=2x3");
  const auto far_away = [](View<void> view, void* memory) {
    return View<void>(memory, view.dtype, view.shape, {(kRows - 1) * kStride, 1});
  };
  c.keep.view = far_away(c.keep.view, mask.data());
  c.bias.view = far_away(c.bias.view, bias.data());
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 3; ++j) {
      set_element(c.keep.view, i * c.keep.view.strides[0] + j, element_as_double(before.keep.view, i * 3 + j));
      set_element(c.bias.view, i * c.bias.view.strides[0] + j, element_as_double(before.bias.view, i * 3 + j));
    }
  for (const Target target : available_targets())
    EXPECT_EQ(run_case(c, on(target)).o_bits(), run_case(before, on(target)).o_bits()) << to_string(target);
}

}  // namespace
}  // namespace qkv
