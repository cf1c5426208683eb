// Every rank and layout against the axes it should have.
#include "src/core/four_axes.h"

#include <gtest/gtest.h>

namespace qkv {
namespace {

struct Case {
  Dims shape;
  Layout layout;
  const char* seen;
  const char* strides;
};

TEST(FourAxes, lower_ranks_get_leading_axes_and_tokens_first_is_exchanged) {
  float memory[120] = {};
  const Case cases[] = {
      {{3, 5}, Layout::kBHTD, "[1,1,3,5]", "[0,0,5,1]"},
      {{3, 5}, Layout::kBTHD, "[1,1,3,5]", "[0,0,5,1]"},
      {{2, 3, 5}, Layout::kBHTD, "[1,2,3,5]", "[0,15,5,1]"},
      {{3, 2, 5}, Layout::kBTHD, "[1,2,3,5]", "[0,5,10,1]"},
      {{4, 2, 3, 5}, Layout::kBHTD, "[4,2,3,5]", "[30,15,5,1]"},
      {{4, 3, 2, 5}, Layout::kBTHD, "[4,2,3,5]", "[30,5,10,1]"},
  };
  for (const Case& c : cases) {
    const View<const void> view = with_four_axes(View<const void>(memory, DType::kF32, c.shape), c.layout);
    EXPECT_EQ(to_string(view.shape), c.seen);
    EXPECT_EQ(to_string(view.strides), c.strides);
    const View<const void> back = without_leading_axes(view, c.layout, c.shape.rank());
    EXPECT_EQ(to_string(back.shape), to_string(c.shape));
    EXPECT_EQ(to_string(back.strides), to_string(contiguous_strides(c.shape)));
  }
}

TEST(FourAxes, a_vector_stays_one_so_that_its_message_names_what_was_given) {
  float memory[5] = {};
  const View<const void> view = with_four_axes(View<const void>(memory, DType::kF32, {5}), Layout::kBHTD);
  EXPECT_EQ(to_string(view.shape), "[5]");
}

}  // namespace
}  // namespace qkv
