// The document inside its page: whatever it says, it stays one text.
#include "src/check/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace qkv::check {
namespace {

constexpr std::string_view kBefore = "<p></p><script id=\"report\" type=\"application/json\">";
constexpr std::string_view kAfter = "</script><script>start()</script>";

TEST(ToHtml, puts_the_document_into_its_element) {
  const std::string page = std::string(kBefore) + std::string(kAfter);
  EXPECT_EQ(*to_html(page, "{\"a\": 1}"), std::string(kBefore) + "{\"a\": 1}" + std::string(kAfter));
}

TEST(ToHtml, a_hostile_name_ends_no_element_and_is_the_same_text_when_it_is_read) {
  CheckReport report;
  report.subject = "</script><img src=x onerror=alert(1)><!--<script>";
  const std::string page = std::string(kBefore) + std::string(kAfter);
  const std::string html = std::move(to_html(page, to_json(report))).value();
  const std::string inside = html.substr(kBefore.size(), html.size() - kBefore.size() - kAfter.size());
  EXPECT_TRUE(html.ends_with(kAfter));
  EXPECT_EQ(inside.find('<'), std::string::npos) << inside;
  EXPECT_EQ(nlohmann::json::parse(inside)["subject"], report.subject);
}

TEST(ToHtml, a_page_without_a_place_is_an_error) {
  EXPECT_EQ(to_html("<p></p>", "{}").code(), StatusCode::kUnsupported);
}

TEST(ToJson, says_of_matrices_where_they_begin_and_what_json_has_no_number_for) {
  CheckReport report;
  report.matrices.resize(1);
  report.matrices[0].tensor = "o";
  report.matrices[0].got = {
      .at = {1, 2}, .first_row = 3, .first_column = 4, .rows = 50, .columns = 60, .values = {{0.5, NAN}}};
  const nlohmann::json got = nlohmann::json::parse(to_json(report))["matrices"][0]["got"];
  EXPECT_EQ(got["at"], nlohmann::json({1, 2}));
  EXPECT_EQ(got["first"], nlohmann::json({3, 4}));
  EXPECT_EQ(got["of"], nlohmann::json({50, 60}));
  EXPECT_EQ(got["values"], nlohmann::json::parse(R"([[0.5, "NaN"]])"));
}

}  // namespace
}  // namespace qkv::check
