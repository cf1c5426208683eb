// No line of tests/data/cases.jsonl is dropped in silence: each has a test named after it, or a reason here.
#include "tests/cases.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace qkv {
namespace {

// Lines that cannot be tested yet, and why. None at present.
const std::map<std::string, std::string> kNotApplicableYet = {};

// The ids at the beginning of test names ("TEST(Npy, c106_fortran_order...)") in every test of the project.
std::set<std::string> ids_of_tests() {
  const std::regex name(R"(TEST(?:_F|_P)?\(\s*\w+,\s*(c\d{3})_)");
  std::set<std::string> ids;
  for (const char* folder : {"src", "tests", "apps"})
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::string(QKV_SOURCE_DIR) + "/" + folder)) {
      if (!entry.path().filename().string().ends_with("_test.cc")) continue;
      std::ifstream file(entry.path());
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match)
        ids.insert((*match)[1].str());
    }
  return ids;
}

TEST(CasesFile, every_line_has_a_test_or_a_reason_why_not_yet) {
  const std::set<std::string> tested = ids_of_tests();
  std::set<std::string> in_file;
  for (const testing::Json& line : testing::all_cases()) {
    ASSERT_TRUE(line.is_object()) << "a line is not JSON";
    const std::string id = line["id"];
    EXPECT_TRUE(in_file.insert(id).second) << id << " is there twice";
    EXPECT_NE(tested.count(id), kNotApplicableYet.count(id))
        << id << " (" << line["source"] << ", " << line["kind"] << ") needs either a test or a reason";
  }
  EXPECT_EQ(in_file.size(), 61u);
  for (const std::string& id : tested) EXPECT_TRUE(in_file.count(id)) << "the test " << id << " has no line";
  for (const auto& [id, reason] : kNotApplicableYet) EXPECT_TRUE(in_file.count(id)) << id << " has no line: " << reason;
}

}  // namespace
}  // namespace qkv
