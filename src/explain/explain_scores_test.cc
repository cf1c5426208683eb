// The scores of part 7: the law of √d_k, measured, and what a division by it saves.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "qkv/explain.h"
#include "src/explain/json_read.h"

namespace qkv {
namespace {

Json scores(const std::string& fields) {
  const Result<std::string> answer = explain("{\"op\":\"scores\"" + (fields.empty() ? "" : "," + fields) + "}");
  EXPECT_TRUE(answer.is_ok()) << answer.status().message();
  return answer.is_ok() ? Json::parse(*answer) : Json();
}

Json stage(const Json& document, const std::string& name) {
  for (const Json& each : document["stages"])
    if (each["name"] == name) return each["values"];
  return {};
}

std::string numbers(const char* name, int value) { return "\"" + std::string(name) + "\":" + std::to_string(value); }

TEST(Scores, of_128_terms_have_a_standard_deviation_of_about_11_3) {
  const Json document = scores(R"("n":64,"d_k":128,"divide":false)");
  EXPECT_NEAR(document["deviation"]["expected"], 11.3137, 1e-4);
  EXPECT_NEAR(document["deviation"]["noise"], 11.3, 0.4);
}

TEST(Scores, keep_the_law_whatever_the_seed_and_the_width) {
  for (int d_k : {4, 9, 64, 256, 1024})
    for (int seed = 0; seed < 12; ++seed) {
      const Json document = scores(R"("n":64,)" + numbers("d_k", d_k) + "," + numbers("seed", seed));
      const double root = std::sqrt(d_k);
      // With few components the 64 vectors are too few to know a variance closely.
      EXPECT_NEAR(document["deviation"]["noise"].get<double>() / root, 1, d_k < 64 ? 0.3 : 0.1) << d_k << " " << seed;
    }
}

TEST(Scores, stand_three_deviations_high_where_a_query_finds_its_target) {
  const Json document = scores(R"("n":64,"d_k":256,"seed":5)");
  double sum = 0;
  for (std::size_t i = 0; i < 64; ++i)
    sum += stage(document, "s")[i][document["targets"][i].get<std::size_t>()].get<double>();
  EXPECT_NEAR(sum / 64 / 16, 3, 0.5);
}

TEST(Scores, undivided_make_the_weights_binary_and_let_no_gradient_through) {
  const Json divided = scores(R"("n":24,"d_k":256)");
  const Json undivided = scores(R"("n":24,"d_k":256,"divide":false)");
  EXPECT_EQ(stage(divided, "s"), stage(undivided, "s"));
  EXPECT_EQ(stage(undivided, "s"), stage(undivided, "scaled"));
  EXPECT_GT(undivided["means"]["largest"], 0.95);
  EXPECT_LT(undivided["means"]["gradient"], 0.05);
  EXPECT_LT(divided["means"]["largest"], 0.8);
  EXPECT_GT(divided["means"]["gradient"], 0.3);
}

TEST(Scores, have_rows_of_weights_that_sum_to_1_and_measures_that_can_be_recomputed) {
  for (const char* causal : {"true", "false"}) {
    const Json document = scores(R"("n":17,"d_k":8,"function":"mix","causal":)" + std::string(causal));
    const Json weights = stage(document, "p");
    for (std::size_t i = 0; i < 17; ++i) {
      double sum = 0, largest = 0, entropy = 0, gradient = 0;
      for (const Json& entry : weights[i]) {
        const double p = entry;
        sum += p;
        largest = std::max(largest, p);
        entropy -= p > 0 ? p * std::log(p) : 0;
        gradient += p * (1 - p);
      }
      EXPECT_NEAR(sum, 1, 1e-14);
      EXPECT_EQ(document["rows"]["largest"][i], largest);
      EXPECT_NEAR(document["rows"]["entropy"][i], entropy, 1e-14);
      EXPECT_NEAR(document["rows"]["gradient"][i], gradient, 1e-14);
    }
  }
}

TEST(Scores, by_distance_do_not_change_with_the_width_once_divided) {
  for (const char* function : {"previous", "decay"}) {
    const std::string fields = R"("n":24,"function":")" + std::string(function) + "\",";
    const Json narrow = scores(fields + R"("d_k":1)");
    const Json wide = scores(fields + R"("d_k":256)");
    EXPECT_TRUE(wide["deviation"]["noise"].is_null());
    EXPECT_NEAR(wide["deviation"]["all"], 16, 1e-9);
    EXPECT_NEAR(wide["deviation"]["scaled"], 1, 1e-12);
    for (std::size_t i = 0; i < 24; ++i)
      for (std::size_t j = 0; j < 24; ++j)
        EXPECT_NEAR(stage(narrow, "p")[i][j], stage(wide, "p")[i][j].get<double>(), 1e-14);
  }
}

TEST(Scores, of_the_previous_token_point_at_it) {
  const Json p = stage(scores(R"("n":24,"function":"previous")"), "p");
  for (std::size_t i = 1; i < 24; ++i) EXPECT_GT(p[i][i - 1], 0.5) << i;
}

TEST(Scores, count_every_pair_that_is_seen_in_one_bin_of_the_histogram) {
  for (const auto& [causal, pairs] : {std::pair("false", 24 * 24), std::pair("true", 24 * 25 / 2)}) {
    const Json histogram = scores(R"("n":24,"causal":)" + std::string(causal))["histogram"];
    int sum = 0;
    for (const Json& count : histogram["counts"]) sum += count.get<int>();
    EXPECT_EQ(sum, pairs);
    EXPECT_EQ(histogram["edges"].size(), histogram["counts"].size() + 1);
  }
}

TEST(Scores, look_for_the_targets_that_are_given_and_draw_anew_for_another_seed) {
  const Json document = scores(R"("n":3,"d_k":9,"targets":[2,0,1])");
  EXPECT_EQ(document["targets"], Json({2, 0, 1}));
  EXPECT_EQ(document, scores(R"("n":3,"d_k":9,"targets":[2,0,1],"seed":1)"));
  EXPECT_NE(stage(document, "s"), stage(scores(R"("n":3,"d_k":9,"targets":[2,0,1],"seed":2)"), "s"));
}

TEST(Scores, say_what_is_wrong_with_a_request) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("n":257)", "n is 257; expected a whole number from 1 to 256"},
      {R"("d_k":0)", "d_k is 0; expected a whole number of at least 1"},
      {R"("d_k":1025)", "d_k is 1025; expected a whole number from 1 to 1024"},
      {R"("function":"contents")", "function is \"contents\"; expected \"content\""},
      {R"("mix":[1,0,0])", "mix is only for \"function\": \"mix\""},
      {R"("function":"mix","mix":[1,0])", "mix is not three numbers"},
      {R"("function":"mix","mix":[1,0,"Infinity"])", "mix is not three numbers"},
      {R"("n":2,"targets":[0])", "targets has 1 entries, but n is 2"},
      {R"("n":2,"targets":[0,2])", "targets[1] is 2; expected the index of a key, 0 to 1"},
      {R"("width":4)", "there is no field \"width\""},
  };
  for (const auto& [fields, message] : cases) {
    const Result<std::string> answer = explain("{\"op\":\"scores\"," + std::string(fields) + "}");
    ASSERT_FALSE(answer.is_ok()) << fields;
    EXPECT_NE(answer.status().message().find(message), std::string::npos) << answer.status().message();
  }
}

}  // namespace
}  // namespace qkv
