// Matrices, vectors, numbers and bars on a page of characters.
#include "apps/cli/matrix_block.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "apps/cli/text.h"

namespace qkv::cli {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(MatrixBlock, puts_labels_shape_and_numbers_under_one_another) {
  const Matrix matrix{"A", "softmax(S)", {{0.446, 0.446, 0.108}, {0.074, 0.306, 0.62}}};
  MatrixStyle style;
  style.picked = 1;
  EXPECT_EQ(matrix_block(matrix, {"0 sat", "1 praça"}, {"sat", "bank", "川"}, style),
            (Block{"A = softmax(S)  [2,3]",     //
                   "           sat bank   川",  //
                   "  0 sat   0.45 0.45 0.11",  //
                   "▸ 1 praça 0.07 0.31 0.62"}));
}

TEST(MatrixBlock, cuts_a_wide_matrix_into_blocks_of_columns_that_fit) {
  Matrix matrix{"S", "", {std::vector<double>(30, -1.5)}};
  MatrixStyle style;
  style.width = 40;
  const Block block = matrix_block(matrix, {"a"}, {}, style);
  for (const std::string& line : block) EXPECT_LE(display_width(line), 40) << line;
  std::size_t numbers = 0;
  for (const std::string& line : block)
    for (std::size_t at = line.find("-1.50"); at != std::string::npos; at = line.find("-1.50", at + 1)) ++numbers;
  EXPECT_EQ(numbers, 30U);
}

TEST(MatrixBlock, shows_a_hidden_pair_as_a_dot_not_as_a_number) {
  MatrixStyle scores;
  scores.hide_infinite = true;
  const Matrix matrix{"S", "", {{1.0, -kInfinity}}};
  EXPECT_EQ(matrix_block(matrix, {"a"}, {"x", "y"}, scores).back(), "  a 1.00 ·");
  EXPECT_EQ(matrix_block(matrix, {"a"}, {"x", "y"}, {}).back(), "  a 1.00 −∞");  // of V or O it is a number
}

TEST(MatrixBlock, writes_no_minus_before_a_zero_and_names_what_is_no_number) {
  EXPECT_EQ(number_text(-0.0001, 2), "0.00");
  EXPECT_EQ(number_text(-0.0, 3), "0.000");
  EXPECT_EQ(number_text(-0.006, 2), "-0.01");
  EXPECT_EQ(number_text(std::nan(""), 2), "NaN");
  EXPECT_EQ(number_text(-kInfinity, 2), "−∞");
  EXPECT_EQ(number_text(1e300, 2), "1.00e+300");
  EXPECT_EQ(number_text(3, 0), "3");
  EXPECT_EQ(small_number_text(1.7e-16), "1.7e-16");
  EXPECT_EQ(small_number_text(1e-6), "1e-06");
  EXPECT_EQ(small_number_text(0), "0");
}

TEST(MatrixBlock, leaves_out_the_middle_of_a_long_vector) {
  EXPECT_EQ(vector_text({0.85, 0.15}, 2), "[0.85 0.15]");
  EXPECT_EQ(vector_text({1, 2, 3, 4}, 0), "[1 2 3 4]");
  EXPECT_EQ(vector_text({1, 2, 3, 4, 5, 6}, 0), "[1 2 … 6]");
}

TEST(MatrixBlock, draws_bars_to_an_eighth_and_never_past_their_width) {
  EXPECT_EQ(bar(1, 4), "████");
  EXPECT_EQ(bar(0.5, 4), "██");
  EXPECT_EQ(bar(1.0 / 32, 4), "▏");
  EXPECT_EQ(bar(0, 4), "");
  EXPECT_EQ(bar(7, 4), "████");
  EXPECT_EQ(bar(std::nan(""), 4), "");
}

TEST(Block, lays_blocks_beside_one_another_while_they_fit) {
  const std::vector<Block> blocks{{"aaa", "a"}, {"bb"}, {"cccc"}};
  EXPECT_EQ(laid_out(blocks, 8, 2), (Block{"aaa  bb", "a", "", "cccc"}));
  EXPECT_EQ(laid_out(blocks, 80, 1), (Block{"aaa bb cccc", "a"}));
}

}  // namespace
}  // namespace qkv::cli
