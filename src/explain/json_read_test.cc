// Strict JSON: what is refused, and with which words.
#include "src/explain/json_read.h"

#include <gtest/gtest.h>

#include <string>

namespace qkv {
namespace {

std::string message_of(std::string_view text) { return read_json(text).status().message(); }

TEST(JsonRead, reads_every_kind_of_value) {
  const Result<Json> json = read_json(R"({"a": [1, -2.5, true, null, "é"], "b": {}})");
  ASSERT_TRUE(json.is_ok());
  EXPECT_EQ(json->dump(), R"({"a":[1,-2.5,true,null,"é"],"b":{}})");
}

TEST(JsonRead, says_where_the_text_stops_being_json) {
  EXPECT_NE(message_of("{\"a\": 1,\n oops}").find("line 2, column 2"), std::string::npos)
      << message_of("{\"a\": 1,\n oops}");
  EXPECT_NE(message_of("").find("line 1, column 1"), std::string::npos) << message_of("");
  EXPECT_NE(message_of("{} {}").find("not JSON"), std::string::npos);
}

TEST(JsonRead, refuses_a_field_that_is_given_twice) {
  EXPECT_EQ(message_of(R"({"q": [[1]], "q": [[2]]})"), "explain: the field \"q\" is given twice");
}

TEST(JsonRead, refuses_what_is_nested_too_deeply_without_running_out_of_stack) {
  const std::string deep(1'000'000, '[');
  EXPECT_NE(message_of(deep).find("nested more than 8 deep"), std::string::npos) << message_of(deep);
}

TEST(JsonRead, refuses_bytes_that_are_no_utf8) { EXPECT_FALSE(read_json("{\"a\": \"\xff\"}").is_ok()); }

TEST(JsonRead, refuses_a_number_that_no_float64_holds) { EXPECT_FALSE(read_json("[1e999]").is_ok()); }

}  // namespace
}  // namespace qkv
