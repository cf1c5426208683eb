// The error of central differences against their step: it falls, meets rounding, and rises again.
#include <gtest/gtest.h>

#include <string>

#include "qkv/explain.h"
#include "src/explain/json_read.h"

namespace qkv {
namespace {

Json backward(const std::string& fields) {
  const Result<std::string> answer = explain(R"({"example":"backward","backward":true,)" + fields + "}");
  EXPECT_TRUE(answer.is_ok()) << answer.status().message();
  return answer.is_ok() ? Json::parse(*answer) : Json();
}

TEST(Sweep, falls_with_the_step_and_rises_again_when_rounding_wins) {
  const Json sweep = backward(R"("steps":[0.1,0.001,1e-5,1e-9,1e-13])")["sweep"];
  ASSERT_EQ(sweep.size(), 5U);
  for (const char* gradient : {"dq", "dk"}) {
    const auto error = [&](std::size_t step) { return sweep[step]["max_errors"][gradient].get<double>(); };
    EXPECT_GT(error(0), 100 * error(1)) << gradient;
    EXPECT_GT(error(1), error(2)) << gradient;
    EXPECT_LT(error(2), 1e-9) << gradient;
    EXPECT_GT(error(4), 100 * error(3)) << gradient;
  }
}

TEST(Sweep, agrees_with_the_differences_of_the_same_step) {
  const Json document = backward(R"("steps":[1e-4],"step":1e-4)");
  for (const Json& each : document["differences"])
    EXPECT_EQ(document["sweep"][0]["max_errors"][each["stage"].get<std::string>()], each["max_error"]);
}

TEST(Sweep, is_there_only_when_it_was_asked_for) { EXPECT_FALSE(backward(R"("row":0)").contains("sweep")); }

TEST(Sweep, says_what_is_wrong_with_its_steps) {
  std::string many = "0.1";
  for (int i = 0; i < 64; ++i) many += ",0.1";
  const std::pair<std::string, const char*> cases[] = {
      {R"({"example":"backward","steps":[0.1]})", "add \"backward\": true"},
      {R"({"example":"backward","backward":true,"steps":[0.1,0]})", "steps[1] is 0; expected a number above 0"},
      {R"({"example":"backward","backward":true,"steps":["NaN"]})", "steps[0] is \"NaN\"; expected a number above 0"},
      {R"({"example":"backward","backward":true,"steps":[)" + many + "]}", "65 entries; expected at most 64"},
  };
  for (const auto& [request, message] : cases) {
    const Result<std::string> answer = explain(request);
    ASSERT_FALSE(answer.is_ok()) << request;
    EXPECT_NE(answer.status().message().find(message), std::string::npos) << answer.status().message();
  }
}

}  // namespace
}  // namespace qkv
