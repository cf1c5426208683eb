// `qkv explain` from the outside: its pages against golden files, its JSON against the lesson, its errors.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "apps/cli/cli.h"
#include "apps/cli/text.h"
#include "src/io/tensor_file.h"
#include "tests/command_outcome.h"

namespace qkv::cli {
namespace {

using Json = nlohmann::json;

Outcome explain(const std::vector<std::string>& arguments, int width = kPlainWidth, bool color = false) {
  return outcome_of("explain", arguments, width, color);
}

Json lesson(const std::string& name) {
  std::ifstream file(QKV_SOURCE_DIR "/tests/data/lesson/" + name + ".json");
  return Json::parse(file);
}

Json stage(const Json& document, const std::string& name) {
  for (const Json& each : document["stages"])
    if (each["name"] == name) return each["values"];
  ADD_FAILURE() << "no stage " << name;
  return {};
}

Json document(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const Outcome outcome = explain(std::move(arguments));
  EXPECT_EQ(outcome.code, kDone) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

double number_of(const Json& value) { return value == "-Infinity" ? -HUGE_VAL : value.get<double>(); }

// Every number of two nested lists to 1e-12; null in the lesson stands for −∞.
void expect_near(const Json& found, const Json& expected, const std::string& what) {
  if (!expected.is_array()) {
    const double value = expected.is_null() || expected == "-Infinity" ? -HUGE_VAL : expected.get<double>();
    if (std::isinf(value))
      EXPECT_EQ(number_of(found), value) << what;
    else
      EXPECT_NEAR(number_of(found), value, 1e-12) << what;
    return;
  }
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i)
    expect_near(found[i], expected[i], what + "[" + std::to_string(i) + "]");
}

// The forward stages of one head against the lesson's names for them.
void expect_forward(const Json& document, std::size_t head, const Json& expected, const std::string& what) {
  const std::pair<const char*, const char*> names[] = {
      {"raw", "raw"}, {"scaled", "scaled"}, {"weights", "p"}, {"lse", "lse"}, {"output", "o"}};
  for (const auto& [theirs, ours] : names) {
    ASSERT_TRUE(expected.contains(theirs)) << what << " " << theirs;
    expect_near(stage(document, ours)[0][head], expected[theirs], what + " " + theirs);
  }
}

TEST(ExplainCommand, gives_every_number_of_the_bank_and_its_three_experiments) {
  const Json bank = lesson("bank");
  const std::pair<const char*, const char*> edits[] = {
      {"river_says_money", "v[river]=0,1"}, {"query_1_0", "q[bank]=1,0"}, {"query_zero", "q[1]=0,0"}};
  expect_forward(document({"bank"}), 0, bank["expected"], "bank");
  for (const auto& [name, edit] : edits)
    expect_forward(document({"bank", "--set", edit}), 0, bank["experiments"][name]["expected"], name);
}

TEST(ExplainCommand, gives_every_number_of_the_running_example) {
  const Json running = lesson("running");
  const Json plain = document({"running"});
  const Json unscaled = document({"running", "--no-scale"});
  const Json causal = document({"running", "--causal"});
  expect_near(stage(plain, "sigma")[0], running["sigma"], "sigma");
  expect_near(stage(plain, "u")[0], running["u"], "u");
  for (std::size_t head = 0; head < running["heads"].size(); ++head) {
    const Json& expected = running["heads"][head];
    for (const char* name : {"q", "k", "v"}) expect_near(stage(plain, name)[0][head], expected[name], name);
    expect_forward(plain, head, expected["full"], "full");
    expect_forward(unscaled, head, expected["unscaled"], "unscaled");
    expect_forward(causal, head, expected["causal"], "causal");
  }
}

TEST(ExplainCommand, gives_every_number_of_the_backward_example) {
  const Json expected = lesson("backward");
  const Json found = document({"backward", "--backward"});
  expect_forward(found, 0, expected["forward"], "forward");
  for (const auto& [theirs, ours] : {std::pair("d_weights", "dp"), std::pair("d_scores", "ds"), std::pair("dq", "dq"),
                                     std::pair("dk", "dk"), std::pair("dv", "dv")})
    expect_near(stage(found, ours)[0][0], expected[theirs], theirs);
  for (const Json& gradient : found["differences"]) EXPECT_LE(gradient["max_error"].get<double>(), 1e-9);
}

TEST(ExplainCommand, shows_the_numbers_that_the_lesson_prints) {
  const std::string bank = explain({"bank"}).out;
  EXPECT_NE(bank.find("0.71 2.12 2.83 → 0.07 0.31 0.62 → [0.85 0.15]"), std::string::npos) << bank;
  const std::string running = explain({"running", "--head", "0"}).out;
  EXPECT_NE(running.find("0.011 0.035 0.622 0.319 0.014"), std::string::npos) << running;
  EXPECT_NE(running.find("looks at ␣climb with 0.66"), std::string::npos) << running;
  EXPECT_NE(running.find("(together 0.940)"), std::string::npos) << running;
  const std::string unscaled = explain({"running", "--head", "0", "--no-scale"}).out;
  EXPECT_NE(unscaled.find("0.002 0.012 0.707 0.275 0.003"), std::string::npos) << unscaled;
  const std::string backward = explain({"backward", "--backward"}).out;
  EXPECT_NE(backward.find("0.456 0.354 0.099 0.209"), std::string::npos) << backward;
  const std::string money = explain({"bank", "--set", "v[river]=0,1"}).out;
  EXPECT_NE(money.find("[0.23 0.77]"), std::string::npos) << money;
  EXPECT_NE(money.find("no weight moves"), std::string::npos) << money;
}

TEST(ExplainCommand, says_what_bank_looks_at_in_a_real_model) {
  const std::string file = QKV_SOURCE_DIR "/examples/minilm.safetensors";
  const std::string page = explain({file, "--batch", "0", "--head", "4", "--row", "bank"}).out;
  EXPECT_NE(page.find("bank looks at river most, with 0.698"), std::string::npos) << page;
}

// The page itself. QKV_UPDATE_GOLDEN=1 writes the files anew: look at the difference before you commit it.
void expect_golden(const std::string& name, const std::vector<std::string>& arguments) {
  const std::string path = QKV_SOURCE_DIR "/tests/data/golden/" + name + ".txt";
  const std::string page = explain(arguments).out;
  if (std::getenv("QKV_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << page;
  std::ifstream file(path);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(page, golden.str()) << path;
}

TEST(ExplainCommand, prints_the_golden_pages_in_both_languages) {
  for (const char* language : {"en", "pt"}) {
    const std::string end = std::string("_") + language;
    expect_golden("bank" + end, {"bank", "--lang", language});
    expect_golden("running" + end, {"running", "--lang", language});
    expect_golden("backward" + end, {"backward", "--backward", "--lang", language});
  }
}

TEST(ExplainCommand, keeps_every_line_inside_the_terminal) {
  for (const int width : {50, 80, 120})
    for (const char* example : {"bank", "running", "backward"})
      for (const char* language : {"en", "pt"}) {
        std::istringstream lines(explain({example, "--backward", "--lang", language}, width).out);
        for (std::string line; std::getline(lines, line);) {
          if (line.find("qkv explain") != std::string::npos) continue;  // a command is never broken
          EXPECT_LE(display_width(line), width) << example << " " << language << ": " << line;
          EXPECT_TRUE(line.empty() || line.back() != ' ') << example << ": '" << line << "'";
        }
      }
}

TEST(ExplainCommand, the_commands_that_it_suggests_work) {
  for (const char* language : {"en", "pt"})
    for (const char* example : {"bank", "running", "backward"}) {
      std::istringstream lines(explain({example, "--lang", language}, 200).out);
      int tried = 0;
      for (std::string line; std::getline(lines, line);) {
        if (line.rfind("  qkv explain ", 0) != 0) continue;
        std::vector<std::string> words;
        std::istringstream text(line.substr(14, line.find("  ", 14) - 14));  // two spaces end the command
        for (std::string word; text >> word;) {
          std::erase(word, '\'');
          words.push_back(word);
        }
        EXPECT_EQ(explain(words).code, kDone) << line;
        ++tried;
      }
      EXPECT_GE(tried, 1) << example;
    }
}

TEST(ExplainCommand, colours_only_when_told_and_then_changes_nothing_else) {
  const std::string plain = explain({"running"}).out;
  std::string colored = explain({"running"}, kPlainWidth, true).out;
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(colored.find('\x1b'), std::string::npos);
  for (std::size_t at = colored.find('\x1b'); at != std::string::npos; at = colored.find('\x1b'))
    colored.erase(at, colored.find('m', at) - at + 1);
  EXPECT_EQ(colored, plain);
}

// A file of the test's own; the name has the test's, since tests run side by side.
std::string path_of(const std::string& name) {
  return ::testing::TempDir() + ::testing::UnitTest::GetInstance()->current_test_info()->name() + "_" + name;
}

std::string written(const std::string& name, const std::string& text) {
  const std::string path = path_of(name);
  std::ofstream(path) << text;
  return path;
}

TEST(ExplainCommand, reads_json_npz_and_safetensors_alike) {
  const std::vector<double> q{1, 2, 0, 1}, k{1, 0, 1, 1}, v{1, 0, 0.5, 0.5};
  FileContents contents;
  contents.tensors = {{"q", View<const double>(q.data(), {2, 2})},
                      {"k", View<const double>(k.data(), {2, 2})},
                      {"v", View<const double>(v.data(), {2, 2})}};
  contents.strings = {{"tokens", {"uma", "praça"}}};
  const std::string json =
      written("case.json", R"({"q":[[1,2],[0,1]],"k":[[1,0],[1,1]],"v":[[1,0],[0.5,0.5]],"tokens":["uma","praça"]})");
  const Json expected = document({json, "--row", "praça"});
  for (const char* name : {"case.npz", "case.safetensors"}) {
    ASSERT_TRUE(write_tensor_file(path_of(name), contents).is_ok());
    const Json found = document({path_of(name), "--row", "praça"});
    EXPECT_EQ(found["stages"], expected["stages"]) << name;
    EXPECT_EQ(found["tokens"], expected["tokens"]) << name;
    EXPECT_EQ(found["source"]["file"], std::filesystem::path(path_of(name)).filename().string());
  }
}

TEST(ExplainCommand, draws_long_rows_hidden_keys_and_hostile_tokens) {
  std::string rows = "[[1]", tokens = R"(["\u001b[2J")";
  for (int i = 1; i < 60; ++i) {
    rows += ",[" + std::to_string(i % 5) + "]";
    tokens += ",\"字" + std::to_string(i) + "\"";
  }
  const std::string path =
      written("long.json", "{\"q\":" + rows + "],\"k\":" + rows + "],\"v\":" + rows + "],\"tokens\":" + tokens + "]}");
  const Outcome page = explain({path, "--causal", "--row", "0"});
  EXPECT_EQ(page.code, kDone) << page.err;
  EXPECT_EQ(page.out.find('\x1b'), std::string::npos);
  EXPECT_NE(page.out.find("--json prints every one"), std::string::npos) << page.out;
  EXPECT_NE(explain({"bank", "--causal", "--row", "0"}).out.find("hidden"), std::string::npos);
}

TEST(ExplainCommand, says_what_to_do_about_a_mistake_and_exits_with_2) {
  const std::string broken = written("broken.json", "{\"q\": [1,}");
  const std::pair<std::vector<std::string>, const char*> mistakes[] = {
      {{}, "qkv explain: WHAT is missing: bank, running, backward, or a "},
      {{"bnk"}, "qkv explain: \"bnk\" is neither an example nor a file; did you mean \"bank\"?\n"},
      {{"bank", "--hlp"},
       "qkv explain: there is no option \"--hlp\"; did you mean \"--help\"?\nTry: qkv explain --help\n"},
      {{"bank", "--row", "rivr"}, "qkv explain: row \"rivr\" is not a token; did you mean \"river\"?\n"},
      {{"bank", "--head", "1"}, "qkv explain: head 1 is outside 0 … 0\n"},
      {{"bank", "--causal=middle"}, "qkv explain: causal is \"middle\"; expected \"top_left\""},
      {{"bank", "--set", "v[0]=1"}, "gives 1 numbers; v[0] has 2"},
      {{"bank", "--lang", "fr"}, "--lang 'fr' is unknown; expected en or pt"},
      {{broken}, "broken.json: explain: the request is not JSON: line 1, column"},
      {{QKV_SOURCE_DIR "/CMakeLists.txt"}, "expected a safetensors, npz or npy file"}};
  for (const auto& [arguments, message] : mistakes) {
    const Outcome outcome = explain(arguments);
    EXPECT_EQ(outcome.code, kBadInput) << message;
    EXPECT_EQ(outcome.out, "") << message;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << outcome.err;
    EXPECT_LE(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 2) << outcome.err;
  }
}

TEST(ExplainCommand, an_unknown_command_and_help_are_the_tools_own) {
  std::ostringstream out, err;
  Console console{out, err};
  EXPECT_EQ(run({"explian"}, console), kBadInput);
  EXPECT_EQ(err.str(), "qkv: there is no command \"explian\"; did you mean \"explain\"?\nTry: qkv --help\n");
  EXPECT_EQ(run({"explain", "--help"}, console), kDone);
  EXPECT_NE(out.str().find("Usage: qkv explain"), std::string::npos) << out.str();
}

}  // namespace
}  // namespace qkv::cli
