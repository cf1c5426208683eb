// `qkv survey` from files to tables: what is shown, what is refused, what cannot be trusted.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "apps/cli/text.h"
#include "tests/capture_testing.h"
#include "tests/command_outcome.h"
#include "tests/temporary_file.h"

namespace qkv::cli {
namespace {

using Json = nlohmann::ordered_json;

const std::string kMiniLM = QKV_SOURCE_DIR "/examples/minilm.safetensors";

Outcome survey_of(const std::vector<std::string>& arguments, int width = kPlainWidth) {
  return outcome_of("survey", arguments, width);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Two layers of four heads over two KV heads, with tokens.
struct SmallCapture {
  SmallCapture() : at("capture.safetensors") {
    file.add("attention H4/2 T12 D8 causal=offset:0", 0);
    file.add("attention H4/2 T12 D8 causal=offset:0 window=3,0 softcap=5 sinks", 3);
    file.add_tokens({1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
    file.write(at.path());
  }
  Outcome survey(std::vector<std::string> arguments, int width = kPlainWidth) const {
    arguments.insert(arguments.begin(), at.path());
    return survey_of(arguments, width);
  }
  TemporaryFile at;
  CaptureFile file;
};

TEST(SurveyCommand, shows_a_row_a_head_in_the_order_of_the_layers) {
  const SmallCapture capture;
  const Outcome outcome = capture.survey({});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 2U + 8U) << outcome.out;
  EXPECT_EQ(lines[2].substr(0, 12), "    0     0 ") << outcome.out;
  EXPECT_EQ(lines[9].substr(0, 12), "    3     3 ") << outcome.out;
  EXPECT_NE(lines[1].find("induction"), std::string::npos);
}

TEST(SurveyCommand, fits_the_terminal_and_says_more_on_a_wide_one) {
  const SmallCapture capture;
  for (const int width : {40, 60, 80, 100, 120, 200})
    for (const std::string& line : lines_of(capture.survey({}, width).out))
      EXPECT_LE(display_width(line), width) << line;
  EXPECT_NE(capture.survey({}, 120).out.find(" on the token before"), std::string::npos);
}

TEST(SurveyCommand, one_head_is_shown_with_every_statistic_and_its_distances) {
  const SmallCapture capture;
  const std::string text = capture.survey({"--layer", "3", "--head", "2"}).out;
  EXPECT_EQ(text.find("layer 3, head 2  layers.3"), 0U) << text;
  for (const char* word : {"relative_entropy", "sink_logit", "induction", "saturation", "error", "2 to 3", "█"})
    EXPECT_NE(text.find(word), std::string::npos) << word;
}

TEST(SurveyCommand, sorts_and_filters_and_cuts) {
  const SmallCapture capture;
  const auto values = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> all = arguments;
    all.emplace_back("--json");
    std::vector<double> found;
    const Json document = Json::parse(capture.survey(all).out);
    for (const Json& head : document["heads"]) found.push_back(head["statistics"]["previous"]);
    return found;
  };
  const auto falling = values({"--sort", "previous"});
  ASSERT_EQ(falling.size(), 8U);
  EXPECT_TRUE(std::ranges::is_sorted(falling, std::greater<>()));
  EXPECT_TRUE(std::ranges::is_sorted(values({"--sort", "previous", "--ascending"})));
  EXPECT_EQ(values({"--sort", "previous", "--top", "3"}), std::vector<double>(falling.begin(), falling.begin() + 3));
  for (const double value : values({"--where", "previous>0.2", "--where", "layer=3"})) EXPECT_GT(value, 0.2);
  EXPECT_EQ(values({"--where", "head<=1"}).size(), 4U);
  EXPECT_EQ(values({"--where", "sink_logit>0"}).size(), 4U);  // layer 0 has none, and unknown is not above 0
  EXPECT_NE(capture.survey({"--where", "head>7"}).out.find("no head fulfils"), std::string::npos);
}

TEST(SurveyCommand, what_sorts_and_filters_is_among_the_columns) {
  const SmallCapture capture;
  for (const int width : {80, 120})
    for (const std::vector<std::string>& asked : {std::vector<std::string>{"--sort", "next"}, {"--where", "next>=0"}})
      EXPECT_NE(lines_of(capture.survey(asked, width).out)[1].find("next"), std::string::npos);
}

TEST(SurveyCommand, a_layer_that_was_called_twice_has_the_calls_names) {
  SmallCapture capture;
  EXPECT_EQ(capture.survey({}).out.find("C0001"), std::string::npos);
  capture.file.calls()[1]["layer"] = 0;
  capture.file.write(capture.at.path());
  EXPECT_NE(capture.survey({}).out.find("C0001 "), std::string::npos);
}

TEST(SurveyCommand, batch_entries_of_a_capture_are_told_apart_where_that_is_asked_for) {
  const TemporaryFile at("capture.safetensors");
  CaptureFile file;
  file.add("attention B2 H2 T9 D8 key_mask", 0);
  file.write(at.path());
  const Outcome together = survey_of({at.path()});
  EXPECT_NE(together.err.find("2 batch entries together; --apart tells them apart"), std::string::npos);
  EXPECT_EQ(lines_of(together.out).size(), 2U + 2U);
  EXPECT_EQ(lines_of(survey_of({at.path(), "--apart", "--where", "batch=1"}).out).size(), 2U + 2U);
}

TEST(SurveyCommand, lists_name_layers_heads_and_calls) {
  const SmallCapture capture;
  const auto count = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> all = arguments;
    all.emplace_back("--csv");
    return lines_of(capture.survey(all).out).size() - 1;
  };
  EXPECT_EQ(count({}), 8U);
  EXPECT_EQ(count({"--layer", "0", "--head", "1-2"}), 2U);
  EXPECT_EQ(count({"--layer", "0,3", "--head", "0,3"}), 4U);
  EXPECT_EQ(count({"--call", "C0001"}), 4U);
}

TEST(SurveyCommand, the_document_has_everything_and_unknown_numbers_are_null) {
  const SmallCapture capture;
  const Json document = Json::parse(capture.survey({"--json"}).out);
  EXPECT_EQ(document["model"], "tiny");
  const Json& head = document["heads"][5];
  EXPECT_EQ(head["layer"], 3);
  EXPECT_EQ(head["head"], 1);
  EXPECT_EQ(head["call"], "C0001");
  EXPECT_LT(head["error"], 1e-5);
  EXPECT_EQ(head["allowed"], 1e-4);
  EXPECT_EQ(head["distances"].size(), 3U);  // a window of 3 keys
  EXPECT_FALSE(head["statistics"]["sink_logit"].is_null());
  EXPECT_TRUE(document["heads"][0]["statistics"]["sink_logit"].is_null());
}

TEST(SurveyCommand, csv_has_a_column_for_each_name) {
  const SmallCapture capture;
  const auto lines = lines_of(capture.survey({"--csv"}).out);
  const auto commas = [](const std::string& line) { return std::ranges::count(line, ','); };
  EXPECT_EQ(lines[0].find("call,layer,batch,head,entropy,"), 0U);
  for (const std::string& line : lines) EXPECT_EQ(commas(line), commas(lines[0])) << line;
}

TEST(SurveyCommand, a_capture_that_cannot_be_recomputed_is_said_to_be_wrong) {
  SmallCapture capture;
  capture.file.calls()[1]["softcap"] = nullptr;
  capture.file.write(capture.at.path());
  const Outcome outcome = capture.survey({});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("of 8 heads cannot be recomputed: o differs by"), std::string::npos) << outcome.err;
}

TEST(SurveyCommand, plain_tensors_are_surveyed_a_batch_entry_at_a_time_with_their_tokens) {
  const Outcome outcome = survey_of({kMiniLM, "--csv"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(lines_of(outcome.out).size(), 1U + 6 * 12);
  const Json document = Json::parse(survey_of({kMiniLM, "--json"}).out);
  const Json& head = document["heads"][2];
  EXPECT_EQ(head["pattern"], "previous");
  EXPECT_FALSE(head["statistics"]["duplicate"].is_null());  // "the" comes twice
  EXPECT_LT(head["error"], 1e-5);
}

TEST(SurveyCommand, options_of_attention_are_for_plain_tensors) {
  const Json causal = Json::parse(survey_of({kMiniLM, "--causal", "--json"}).out);
  EXPECT_EQ(causal["heads"][0]["rows"], 14);  // row 0 sees one key
  const SmallCapture capture;
  EXPECT_EQ(capture.survey({"--causal"}).err,
            "qkv survey: --causal is for plain tensors; a capture says itself what was computed\n");
  EXPECT_EQ(capture.survey({"--scale", "1"}).code, 2);
  EXPECT_EQ(survey_of({kMiniLM, "--layer", "1"}).err,
            "qkv survey: --layer and --call name calls of a capture; " + kMiniLM + " is none\n");
}

TEST(SurveyCommand, bad_arguments_are_refused_with_what_there_is) {
  const SmallCapture capture;
  const auto error = [&](const std::vector<std::string>& arguments) {
    const Outcome outcome = capture.survey(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_NE(error({"--sort", "entropie"}).find("did you mean \"entropy\"?"), std::string::npos);
  EXPECT_NE(error({"--columns", "head,prev"}).find("--columns: there is no column \"prev\""), std::string::npos);
  EXPECT_NE(error({"--where", "previous"}).find("is no condition"), std::string::npos);
  EXPECT_NE(error({"--where", "previous>x"}).find("\"x\" is no number"), std::string::npos);
  EXPECT_NE(error({"--where", "previous=>1"}).find("\"=>\" is no relation"), std::string::npos);
  EXPECT_NE(error({"--where", "pattern=previos"}).find("did you mean \"previous\"?"), std::string::npos);
  EXPECT_NE(error({"--layer", "2"})
                .find("not all that was asked for is there; the capture has the layers 0, 3 with heads 0 to 3"),
            std::string::npos);
  EXPECT_NE(error({"--layer", "0,2"}).find("not all that was asked for is there"), std::string::npos);
  EXPECT_NE(error({"--head", "0,9"}).find("not all that was asked for is there"), std::string::npos);
  EXPECT_NE(error({"--layer", "3-1"}).find("--layer '3-1' is no list of numbers"), std::string::npos);
  EXPECT_NE(error({"--call", "C1"}).find("there is no call \"C1\"; the capture holds C0000, C0001"), std::string::npos);
  EXPECT_NE(error({"--top", "0"}).find("--top: expected at least 1"), std::string::npos);
  EXPECT_NE(error({"--ascending"}).find("--ascending has no effect without --sort"), std::string::npos);
  EXPECT_NE(error({"--json", "--csv"}).find("give one"), std::string::npos);
  EXPECT_EQ(survey_of({"nowhere.safetensors"}).code, 2);
}

}  // namespace
}  // namespace qkv::cli
