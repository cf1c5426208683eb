// Rows by index and by token.
#include "src/explain/row_names.h"

#include <gtest/gtest.h>

namespace qkv {
namespace {

const Words kRunning{{"the", "␣cat", "␣climb", "ed", "␣the"}, {"the", "␣cat", "␣climb", "ed", "␣the"}};
const Words kBank{{"sat", "bank", "river"}, {"sentei", "banco", "praça"}};

std::int64_t row(const Words& words, std::string_view name) {
  const Result<std::int64_t> found = find_row(words, name, static_cast<std::int64_t>(words.en.size()), "row");
  return found.is_ok() ? *found : -1;
}
std::string message_of(const Words& words, std::string_view name) {
  return find_row(words, name, static_cast<std::int64_t>(words.en.size()), "row").status().message();
}

TEST(RowNames, finds_an_index_and_a_token_in_either_language) {
  EXPECT_EQ(row(kBank, "2"), 2);
  EXPECT_EQ(row(kBank, "river"), 2);
  EXPECT_EQ(row(kBank, "praça"), 2);
}

TEST(RowNames, takes_a_token_without_its_mark_where_that_is_one_token) {
  EXPECT_EQ(row(kRunning, "climb"), 2);
  EXPECT_EQ(row(kRunning, "the"), 0);  // exactly one is called so
  EXPECT_EQ(row(kRunning, "␣the"), 4);
  EXPECT_EQ(row({{"Ġthe", "▁the"}, {"Ġthe", "▁the"}}, "the"), -1);
}

TEST(RowNames, says_what_is_wrong_with_a_name) {
  EXPECT_EQ(message_of(kBank, "5"), "explain: row 5 is outside 0 … 2");
  EXPECT_EQ(message_of(kBank, "-1"), "explain: row -1 is outside 0 … 2");
  EXPECT_EQ(message_of(kBank, "rivr"), "explain: row \"rivr\" is not a token; did you mean \"river\"?");
  EXPECT_EQ(message_of({{"a", "the", "the"}, {"a", "the", "the"}}, "the"),
            "explain: row \"the\" occurs at 1 and 2; say which by its index");
  EXPECT_EQ(message_of({}, "the"), "explain: row \"the\" is not an index, and there are no tokens to look it up in");
  EXPECT_EQ(message_of(kBank, "mountain"),
            "explain: row \"mountain\" is not a token; say an index from 0, or one of \"sat\" \"bank\" \"river\"");
}

TEST(RowNames, prefers_a_token_that_is_a_number_only_if_it_occurs_once) {
  EXPECT_EQ(row({{"7", "1"}, {"7", "1"}}, "1"), 1);
  EXPECT_EQ(row({{"0", "0"}, {"0", "0"}}, "1"), 1);
}

}  // namespace
}  // namespace qkv
