// Nested lists to arrays and back.
#include "src/explain/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

namespace qkv {
namespace {

Result<Numbers> read(const char* text) { return read_numbers(Json::parse(text), "k"); }
std::string message_of(const char* text) { return read(text).status().message(); }

TEST(Numbers, reads_one_to_four_axes_in_row_major_order) {
  const Result<Numbers> numbers = read("[[[1,2],[3,4]],[[5,6],[7,8.5]]]");
  ASSERT_TRUE(numbers.is_ok());
  EXPECT_EQ(numbers->shape, (Dims{2, 2, 2}));
  EXPECT_EQ(numbers->values, (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8.5}));
}

TEST(Numbers, reads_the_texts_for_what_json_has_no_number_for) {
  const Result<Numbers> numbers = read(R"(["Infinity","-Infinity","NaN",true,false])");
  ASSERT_TRUE(numbers.is_ok());
  EXPECT_EQ(numbers->values[0], std::numeric_limits<double>::infinity());
  EXPECT_EQ(numbers->values[1], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(numbers->values[2]));
  EXPECT_EQ(numbers->values[3], 1);
  EXPECT_EQ(numbers->values[4], 0);
}

TEST(Numbers, names_the_entry_that_makes_a_tensor_ragged_or_is_no_number) {
  EXPECT_EQ(message_of("[[1,2],[3]]"),
            "explain: k[1] has 1 entries, but its neighbours have 2; every row of a tensor is equally long");
  EXPECT_EQ(message_of("[[1,2],3]"), "explain: k[1] is a number, but its neighbours are lists");
  EXPECT_EQ(message_of("[[1,[2]]]"), "explain: k[0][1] is a list; expected a number");
  EXPECT_EQ(message_of("[[1,\"two\"]]"), "explain: k[0][1] is \"two\"; expected a number");
  EXPECT_EQ(message_of("[[[[[1]]]]]"), "explain: k has more than 4 axes; the most is [B,H,T,D]");
  EXPECT_EQ(message_of("7"), "explain: k is a number; expected nested lists of numbers");
}

TEST(Numbers, writes_the_shortest_text_that_reads_back_as_the_same_double) {
  for (double value : {0.1, -1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789.0, -0.0})
    EXPECT_EQ(std::strtod(number_to_json(value).c_str(), nullptr), value);
  EXPECT_EQ(number_to_json(0.1), "0.1");
  EXPECT_EQ(number_to_json(std::nan("")), "\"NaN\"");
  EXPECT_EQ(number_to_json(-std::numeric_limits<double>::infinity()), "\"-Infinity\"");
}

TEST(Numbers, understands_numbers_as_people_write_them_and_nothing_else) {
  double value = 0;
  for (const auto& [text, expected] : {std::pair("0.5", 0.5), std::pair(".5", 0.5), std::pair("-.5", -0.5),
                                       std::pair("+2", 2.0), std::pair("-1e3", -1000.0)}) {
    EXPECT_TRUE(parse_number(text, value)) << text;
    EXPECT_EQ(value, expected) << text;
  }
  EXPECT_TRUE(parse_number("-inf", value));
  EXPECT_EQ(value, -std::numeric_limits<double>::infinity());
  for (const char* text : {"", "-", "--1", "1,5", "0x10", "one", "1 2", "[1]", "\"1\""})
    EXPECT_FALSE(parse_number(text, value)) << text;
}

TEST(Numbers, keeps_one_entry_of_the_first_axis) {
  Numbers numbers{{1, 2, 3, 4, 5, 6}, {3, 2}};
  keep_one(numbers, 1);
  EXPECT_EQ(numbers.values, (std::vector<double>{3, 4}));
  EXPECT_EQ(numbers.shape, (Dims{1, 2}));
}

}  // namespace
}  // namespace qkv
