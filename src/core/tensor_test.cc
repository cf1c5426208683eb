// Shapes, strides, the owning tensor, and which views share memory.
#include "qkv/tensor.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <limits>

#include "src/core/view_memory.h"

namespace qkv {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(Dims, count_is_the_product_and_says_when_it_does_not_fit) {
  EXPECT_EQ(element_count({2, 3, 4}), 24);
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({5, 0, kHuge, kHuge}), 0);
  EXPECT_EQ(element_count({kHuge, 2}), -1);
  EXPECT_EQ(element_count({2, -1}), -1);
}

TEST(Dims, strides_of_a_contiguous_shape_are_row_major) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Dims{12, 4, 1}));
  EXPECT_EQ(to_string(Dims{2, 3}), "[2,3]");
}

TEST(View, offsets_are_computed_in_64_bits) {
  // Row 225,304 of stride 9,728 lies beyond 2^31 elements; addresses are reserved, no memory is taken.
  constexpr std::size_t kBytes = std::size_t{300000} * 9728 * sizeof(float);
  void* const addresses = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(addresses, MAP_FAILED);
  const View<float> view(static_cast<float*>(addresses), {300000, 8}, {9728, 1});
  EXPECT_EQ(&view(225304, 0) - view.data, 2191757312);
  ::munmap(addresses, kBytes);
}

TEST(View, swapped_axes_see_the_same_elements) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  const View<const float> turned = swap_axes(View<const float>(data, {2, 3}), 0, 1);
  EXPECT_EQ(turned.shape, (Dims{3, 2}));
  EXPECT_EQ(turned(2, 0), 3);
  EXPECT_EQ(turned(0, 1), 4);
}

TEST(Tensor, is_zero_aligned_and_present_even_when_empty) {
  const auto tensor = Tensor::zeros(DType::kF32, {2, 0, 3});
  ASSERT_TRUE(tensor.is_ok());
  EXPECT_TRUE(tensor->is_present());
  EXPECT_EQ(tensor->size(), 0);
  const auto full = Tensor::zeros(DType::kF64, {3});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(full->data<double>()) % 64, 0u);
  EXPECT_EQ(full->data<double>()[2], 0);
}

TEST(Tensor, refuses_what_no_memory_can_hold) {
  EXPECT_EQ(Tensor::zeros(DType::kF64, {kHuge, 2}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::zeros(DType::kF64, {kHuge / 4}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::zeros(DType::kF64, {-1}).code(), StatusCode::kInvalidArgument);
}

TEST(Converted, walks_strides_and_rounds_once) {
  const double data[] = {1, 2, 3, 1 + 0x1p-11 + 0x1p-40};
  const auto half = converted(View<const double>(data, {2, 2}, {1, 2}), DType::kF16);  // transposed
  ASSERT_TRUE(half.is_ok());
  EXPECT_EQ(to_float(half->data<f16>()[0]), 1);
  EXPECT_EQ(to_float(half->data<f16>()[1]), 3);
  EXPECT_EQ(to_float(half->data<f16>()[3]), 1 + 0x1p-10f);
  const bool flags[] = {true};
  EXPECT_EQ(converted(View<const bool>(flags, {1}), DType::kF32).code(), StatusCode::kShapeMismatch);
}

TEST(Memory, ranges_that_touch_do_not_overlap_and_ranges_that_share_a_byte_do) {
  float data[16] = {};
  const View<float> low(data, {8});
  EXPECT_FALSE(memory_overlaps(low, View<float>(data + 8, {8})));
  EXPECT_TRUE(memory_overlaps(low, View<float>(data + 7, {8})));
  EXPECT_FALSE(memory_overlaps(low, View<const void>()));
  EXPECT_FALSE(memory_overlaps(low, View<float>(data, {0})));
}

TEST(Memory, a_view_overlaps_itself_where_two_indices_meet) {
  float data[64] = {};
  EXPECT_FALSE(overlaps_itself(View<float>(data, {4, 4})));
  EXPECT_FALSE(overlaps_itself(View<float>(data, {4, 4}, {1, 4})));  // transposed
  EXPECT_FALSE(overlaps_itself(View<float>(data, {4, 1}, {1, 0})));  // an axis of 1 never moves
  EXPECT_TRUE(overlaps_itself(View<float>(data, {4, 4}, {0, 1})));
  EXPECT_TRUE(overlaps_itself(View<float>(data, {4, 4}, {3, 1})));
}

}  // namespace
}  // namespace qkv
