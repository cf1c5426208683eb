// The manual page and the completions say what --help says, and the shell that is here accepts them.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "apps/cli/cli.h"
#include "apps/cli/completions.h"
#include "apps/cli/machine_info.h"
#include "apps/cli/man_page.h"
#include "apps/cli/progress_bar.h"
#include "apps/cli/text.h"

namespace qkv::cli {
namespace {

// What the tool prints to standard output.
std::string output_of(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  Console console{out, err};
  EXPECT_EQ(run(arguments, console), kDone) << err.str();
  return out.str();
}

// What bash offers for the last of `words`.
std::string offered(const std::string& words) {
  // A file of its own: tests run side by side.
  const std::string script =
      ::testing::TempDir() + ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".bash";
  std::ofstream(script) << output_of({"completions", "bash"});
  const std::string command = "bash -c 'source " + script + "; COMP_WORDS=(" + words +
                              "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _qkv; echo ${COMPREPLY[@]}' 2>&1";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[256];
  while (fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  pclose(pipe);
  return text;
}

TEST(Completions, bash_offers_commands_options_and_listed_values) {
  EXPECT_EQ(offered("qkv inf"), "info\n");
  EXPECT_EQ(offered("qkv run --softc"), "--softcap\n");
  EXPECT_EQ(offered("qkv run --layout b"), "bhtd bthd\n");
  EXPECT_EQ(offered("qkv completions z"), "zsh\n");
}

TEST(Completions, bash_offers_the_sets_and_passes_of_bench_and_the_examples_of_explain) {
  EXPECT_EQ(offered("qkv bench --set prefil"), "prefill\n");
  EXPECT_EQ(offered("qkv bench --pass layer_"), "layer_forward_backward\n");
  EXPECT_EQ(offered("qkv explain runnin"), "running\n");  // files of the current folder are offered beside it
  EXPECT_EQ(offered("qkv explain " QKV_SOURCE_DIR "/CMakeL"), QKV_SOURCE_DIR "/CMakeLists.txt\n");
}

TEST(Help, no_line_is_wider_than_the_terminal) {
  for (const int width : {60, 80, 120})
    for (const char* command : {"", "explain", "explore", "run", "shapes", "bench", "info", "man", "completions"}) {
      std::ostringstream out, err;
      Console console{out, err, false, false, width};
      std::vector<std::string> arguments{"--help"};
      if (*command != '\0') arguments.insert(arguments.begin(), command);
      EXPECT_EQ(run(arguments, console), kDone);
      std::istringstream lines(out.str());
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("  qkv ") || line.starts_with("  eval ")) continue;  // a command is never broken
        EXPECT_LE(display_width(line), width) << command << ": " << line;
      }
    }
}

TEST(Help, says_what_each_option_takes_and_shows_nothing_of_the_parser) {
  const std::string help = output_of({"explain", "--help"});
  EXPECT_EQ(help.find("Excludes"), std::string::npos) << help;
  EXPECT_NE(help.find("Usage: qkv explain [OPTIONS] WHAT\n"), std::string::npos) << help;
  EXPECT_NE(help.find("  --causal[=CORNER]"), std::string::npos) << help;
  EXPECT_NE(output_of({"run", "--help"}).find("Usage: qkv run [OPTIONS] FILES...\n"), std::string::npos);
  EXPECT_NE(output_of({"run", "--help"}).find("  -o, --output FILE"), std::string::npos);
  EXPECT_NE(output_of({}).find("\n  explain "), std::string::npos);
}

TEST(Completions, bash_offers_files_where_a_command_takes_them) {
  EXPECT_EQ(offered("qkv run " QKV_SOURCE_DIR "/CMakeL"), QKV_SOURCE_DIR "/CMakeLists.txt\n");
}

TEST(Completions, every_shell_gets_every_command_and_option) {
  const std::string zsh = output_of({"completions", "zsh"});
  const std::string fish = output_of({"completions", "fish"});
  for (const char* word : {"run", "explain", "info", "shapes"}) {
    EXPECT_NE(zsh.find(std::string("'") + word + ":"), std::string::npos) << word;
    EXPECT_NE(fish.find(std::string(" -a ") + word + " "), std::string::npos) << word;
  }
  EXPECT_NE(zsh.find("--causal=-["), std::string::npos);
  EXPECT_NE(fish.find("-l softcap -r"), std::string::npos);
}

TEST(Help, an_argument_too_many_is_named) {
  std::ostringstream out, err;
  Console console{out, err};
  EXPECT_EQ(run({"info", "x"}, console), kBadInput);
  EXPECT_EQ(err.str(), "qkv info: there is no use for \"x\"\nTry: qkv info --help\n");
}

TEST(Completions, an_unknown_shell_is_an_error_that_names_the_known_ones) {
  std::ostringstream out, err;
  Console console{out, err};
  EXPECT_EQ(run({"completions", "tcsh"}, console), kBadInput);
  EXPECT_NE(err.str().find("expected bash, zsh or fish"), std::string::npos) << err.str();
}

TEST(ManPage, has_every_command_and_its_examples) {
  const std::string page = output_of({"man"});
  EXPECT_EQ(page.rfind(".TH QKV 1", 0), 0u);
  for (const char* text : {".SS qkv run", "\\-\\-softcap", "\\-\\-causal\\fR[=\\fICORNER", "Exit codes: 0 done"})
    EXPECT_NE(page.find(text), std::string::npos) << text;
}

TEST(ManPage, a_line_that_starts_with_a_dot_is_no_request) {
  CommandText tool{"qkv", "about", ".hidden\n'quoted\\", {}};
  EXPECT_NE(man_page({tool}).find("\\&.hidden\n\\&'quoted\\e"), std::string::npos);
}

TEST(ProgressBar, says_how_much_is_done_and_how_long_it_will_take) {
  EXPECT_EQ(progress_text(1, 4, 10), "[######------------------]  25 %, 30 s left");
  EXPECT_EQ(progress_text(4, 4, 10), "[########################] 100 %, 0 s left");
}

TEST(ProgressBar, draws_nothing_off_a_terminal) {
  std::ostringstream out, err;
  Console console{out, err};
  ProgressBar(console).show(1, 2);
  EXPECT_EQ(err.str(), "");
}

TEST(MachineInfo, a_machine_that_does_not_tell_its_caches_has_none) {
  EXPECT_TRUE(cache_sizes("/no/such/folder").empty());
}

TEST(MachineInfo, info_names_the_target_in_use) {
  const std::string text = output_of({"info"});
  EXPECT_NE(text.find("in use"), std::string::npos);
  EXPECT_NE(text.find("portable"), std::string::npos);
}

}  // namespace
}  // namespace qkv::cli
