// The register tiles and the widening of 16-bit rows, on every target, against plain loops in double.
#include <cstdint>
#include <cstring>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/ops/dot/dot_test.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "src/ops/dot/dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace qkv {
namespace HWY_NAMESPACE {

std::size_t tile_width_f32() { return tile_width<float>(); }

// Both tiles over any number of rows, as the attention kernel calls them.
void dot_rows_f32(const float* rows, std::int64_t stride, std::int64_t count, const float* columns, std::int64_t depth,
                  float* scores) {
  for_each_tile(count, [&](auto height, std::int64_t first) HWY_ATTR {
    dot_tile<decltype(height)::value>(rows + first * stride, stride, columns, depth,
                                      scores + static_cast<std::size_t>(first) * tile_width<float>());
  });
}
void accumulate_columns_f32(const float* values, std::int64_t stride, std::int64_t columns, const float* weights,
                            std::int64_t count, float* accumulators) {
  for_each_tile(columns, [&](auto height, std::int64_t first) HWY_ATTR {
    accumulate_tile<decltype(height)::value>(values + first, stride, weights, count,
                                             accumulators + static_cast<std::size_t>(first) * tile_width<float>());
  });
}
void load_row_f32(View<const void> view, std::int64_t stride, std::size_t count, float* to) {
  load_row(view, 0, stride, count, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace qkv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include "hwy/aligned_allocator.h"
#include "qkv/target.h"
#include "src/core/hwy_target.h"
#include "src/core/random.h"

namespace qkv {
namespace {

HWY_EXPORT(tile_width_f32);
HWY_EXPORT(dot_rows_f32);
HWY_EXPORT(accumulate_columns_f32);
HWY_EXPORT(load_row_f32);

template <class Test>
void on_every_target(const Test& test) {
  for (Target target : available_targets()) {
    SCOPED_TRACE(std::string(to_string(target)));
    hwy::ChosenTarget chosen;
    chosen.Update(highway_bits(target));
    test(chosen.GetIndex());
  }
}

using Aligned = hwy::AlignedFreeUniquePtr<float[]>;

Aligned random_array(std::size_t count, std::uint64_t stream) {
  Aligned array = hwy::AllocateAligned<float>(count);
  const RandomStream random(1, stream);
  for (std::size_t i = 0; i < count; ++i) array[i] = static_cast<float>(random.normal(i));
  return array;
}

constexpr std::int64_t kStride = 80;  // of the rows; wider than any depth used
constexpr std::int64_t kRows = 17;

TEST(DotTile, agrees_with_double_for_every_number_of_rows_and_odd_depths) {
  on_every_target([](std::size_t index) {
    const std::size_t width = HWY_DISPATCH_TABLE(tile_width_f32)[index]();
    const Aligned rows = random_array(kRows * kStride + 1, 1);
    const Aligned columns = random_array(kStride * width, 2);
    for (std::int64_t count = 1; count <= kRows; ++count)
      for (std::int64_t depth : {1, 2, 5, 7, 64, 77}) {
        const Aligned scores = hwy::AllocateAligned<float>(kRows * width);
        const float* first = rows.get() + 1;  // rows may lie anywhere
        HWY_DISPATCH_TABLE(dot_rows_f32)[index](first, kStride, count, columns.get(), depth, scores.get());
        for (std::int64_t r = 0; r < count; ++r)
          for (std::size_t i = 0; i < width; ++i) {
            double want = 0;
            for (std::int64_t k = 0; k < depth; ++k)
              want += double{first[r * kStride + k]} * double{columns[static_cast<std::size_t>(k) * width + i]};
            ASSERT_NEAR(scores[static_cast<std::size_t>(r) * width + i], want, 2e-5)
                << count << " rows, depth " << depth;
          }
      }
  });
}

TEST(AccumulateTile, adds_to_what_was_there_and_touches_nothing_else) {
  on_every_target([](std::size_t index) {
    const std::size_t width = HWY_DISPATCH_TABLE(tile_width_f32)[index]();
    const Aligned values = random_array(64 * kStride + 1, 3);
    const Aligned weights = random_array(64 * width, 4);
    for (std::int64_t columns = 1; columns <= kRows; ++columns)
      for (std::int64_t count : {1, 3, 64}) {
        const Aligned sums = random_array((kRows + 1) * width, 5);
        const Aligned before = random_array((kRows + 1) * width, 5);
        const float* first = values.get() + 1;
        HWY_DISPATCH_TABLE(accumulate_columns_f32)[index](first, kStride, columns, weights.get(), count, sums.get());
        for (std::int64_t c = 0; c <= kRows; ++c)
          for (std::size_t i = 0; i < width; ++i) {
            const std::size_t at = static_cast<std::size_t>(c) * width + i;
            double want = double{before[at]};
            for (std::int64_t j = 0; c < columns && j < count; ++j)
              want += double{first[j * kStride + c]} * double{weights[static_cast<std::size_t>(j) * width + i]};
            ASSERT_NEAR(sums[at], want, c < columns ? 2e-5 : 0.0) << columns << " columns, " << count << " keys";
          }
      }
  });
}

TEST(LoadRow, widens_all_65536_patterns_of_both_16_bit_floats_as_the_scalar_conversion_does) {
  std::vector<f16> halves(65536);
  std::vector<bf16> brains(65536);
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    halves[bits].bits = static_cast<std::uint16_t>(bits);
    brains[bits].bits = static_cast<std::uint16_t>(bits);
  }
  on_every_target([&](std::size_t index) {
    std::vector<float> got(65536);
    const auto expect_same = [&](const auto& from) {
      for (std::size_t i = 0; i < 65536; ++i) {
        const float want = to_float(from[i]);
        if (want != want)
          ASSERT_NE(got[i], got[i]) << i;  // NaN: a target may quiet it
        else
          ASSERT_EQ(std::memcmp(&got[i], &want, sizeof(want)), 0) << i;
      }
    };
    HWY_DISPATCH_TABLE(load_row_f32)[index](View<const f16>(halves.data(), {65536}), 1, 65536, got.data());
    expect_same(halves);
    HWY_DISPATCH_TABLE(load_row_f32)[index](View<const bf16>(brains.data(), {65536}), 1, 65536, got.data());
    expect_same(brains);
  });
}

TEST(LoadRow, reads_any_stride) {
  on_every_target([](std::size_t index) {
    const float from[] = {1, 9, 9, 2, 9, 9, 3};
    float got[3] = {};
    HWY_DISPATCH_TABLE(load_row_f32)[index](View<const float>(from, {3}, {3}), 3, 3, got);
    EXPECT_EQ(got[0], 1);
    EXPECT_EQ(got[1], 2);
    EXPECT_EQ(got[2], 3);
  });
}

}  // namespace
}  // namespace qkv
#endif  // HWY_ONCE
