// The shape table of the lesson, and the mistakes behind shapes that do not fit.
#include <gtest/gtest.h>

#include <string>

#include "qkv/explain.h"
#include "src/explain/shapes.h"

namespace qkv {
namespace {

Json shapes(const std::string& fields) {
  const Result<std::string> answer = explain("{\"op\":\"shapes\"" + (fields.empty() ? "" : "," + fields) + "}");
  EXPECT_TRUE(answer.is_ok()) << answer.status().message();
  return answer.is_ok() ? Json::parse(*answer) : Json();
}

Json line(const Json& document, const std::string& name) {
  for (const Json& each : document["lines"])
    if (each["name"] == name) return each;
  return {};
}

TEST(Shapes, gives_the_toy_of_the_lesson_unless_sizes_are_given) {
  const Json document = shapes("");
  EXPECT_EQ(line(document, "x")["shape"], Json({5, 4}));
  EXPECT_EQ(line(document, "q")["shape"], Json({5, 2}));
  EXPECT_EQ(line(document, "a")["full_shape"], Json({1, 2, 5, 5}));
  EXPECT_EQ(line(document, "merged")["shape"], Json({5, 4}));
  EXPECT_TRUE(document["broken"].is_null());
}

TEST(Shapes, knows_grouped_heads_and_a_width_of_v_of_its_own) {
  const Json document = shapes(R"("n":1,"T":9,"C":4096,"heads":32,"kv_heads":8,"D":128,"Dv":64,"B":2)");
  EXPECT_EQ(line(document, "wk")["full_shape"], Json({4096, 1024}));
  EXPECT_EQ(line(document, "v")["full_shape"], Json({2, 8, 9, 64}));
  EXPECT_EQ(line(document, "s")["shape"], Json({1, 9}));
  EXPECT_EQ(line(document, "merged")["full_shape"], Json({2, 1, 2048}));
}

struct BrokenCase {
  const char* fields;
  const char* line;
  const char* expected;
  const char* found;
  const char* mistake;  // a part of it
};

TEST(Shapes, names_the_line_that_breaks_and_the_usual_mistake_behind_it) {
  const BrokenCase cases[] = {
      {R"("n":5,"C":10,"heads":4)", "wq", "C to be a multiple of heads", "C = 10, heads = 4", "give D"},
      {R"("n":5,"C":8,"heads":4,"kv_heads":3)", "k", "heads to be a multiple of kv_heads", "heads = 4, kv_heads = 3",
       "exchanged"},
      {R"("n":5,"C":8,"heads":2,"found":{"wq":[4,8]})", "wq", "[8,4]", "[4,8]", "torch.nn.Linear"},
      {R"("n":5,"C":8,"heads":2,"found":{"k":[4,5]})", "k", "[5,4]", "[4,5]", "already transposed"},
      {R"("n":5,"C":8,"heads":2,"found":{"q":[5,8]})", "q", "[5,4]", "[5,8]", "not split"},
      {R"("n":5,"C":8,"heads":2,"found":{"v":[6,4]})", "v", "[5,4]", "[6,4]", "one row for each key"},
      {R"("n":5,"C":8,"heads":2,"found":{"merged":[5,4]})", "merged", "[5,8]", "[5,4]", "side by side"},
      {R"("n":5,"C":8,"heads":2,"found":{"merged":[1,2,5,4]})", "merged", "[5,8]", "[1,2,5,4]",
       "swap heads and tokens"},
  };
  for (const BrokenCase& each : cases) {
    const Json document = shapes(each.fields);
    const Json& broken = document["broken"];
    ASSERT_TRUE(broken.is_object()) << each.fields;
    EXPECT_EQ(broken["line"], each.line) << each.fields;
    EXPECT_EQ(broken["expected"], each.expected) << each.fields;
    EXPECT_EQ(broken["found"], each.found) << each.fields;
    EXPECT_NE(broken["mistake"]["en"].get<std::string>().find(each.mistake), std::string::npos) << broken;
    EXPECT_FALSE(broken["mistake"]["pt"].get<std::string>().empty()) << each.fields;
    EXPECT_EQ(line(document, each.line)["ok"], false);
  }
}

TEST(Shapes, takes_a_shape_for_one_head_or_for_all) {
  for (const char* found : {R"({"k":[5,2]})", R"({"k":[1,2,5,2]})", R"({"wq":[4,4]})", R"({"wq":[4,2]})"})
    EXPECT_TRUE(shapes(std::string(R"("preset":"toy","found":)") + found)["broken"].is_null()) << found;
}

TEST(Shapes, refuses_sizes_that_are_none) {
  for (const char* request :
       {R"({"op":"shapes","n":0,"C":4})", R"({"op":"shapes","n":1.5,"C":4})", R"({"op":"shapes","n":5,"C":4,"D":1e30})",
        R"({"op":"shapes","n":2000000000,"C":4})", R"({"op":"shapes","C":4})", R"({"op":"shapes","n":4})",
        R"({"op":"shapes","preset":"gpt3"})", R"({"op":"shapes","m":4})", R"({"op":"shapes","found":[]})",
        R"({"op":"shapes","found":{"z":[1]}})"})
    EXPECT_EQ(explain(request).code(), StatusCode::kInvalidArgument) << request;
}

}  // namespace
}  // namespace qkv
