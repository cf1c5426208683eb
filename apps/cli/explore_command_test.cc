// `qkv explore` from the outside, as far as it goes without a page: the tests are built without one.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "apps/cli/browser.h"
#include "apps/cli/cli.h"

namespace qkv::cli {
namespace {

std::string error_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "explore");
  std::ostringstream out, err;
  Console console{out, err};
  EXPECT_EQ(run(arguments, console), kBadInput);
  EXPECT_EQ(out.str(), "");
  return err.str();
}

// What an opener has to say within two seconds.
std::string trouble_with(const std::string& opener) {
  Browser browser(opener);
  browser.open("http://127.0.0.1:1/");
  for (int i = 0; i < 200; ++i) {
    if (std::string trouble = browser.trouble(); !trouble.empty()) return trouble;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return "";
}

TEST(Explore, without_a_page_says_how_to_get_one) {
  EXPECT_EQ(error_of({}),
            "qkv explore: this qkv was built without the page\n"
            "Build it with -DQKV_EMBED_PAGE=ON, which needs nodejs and npm; make build does\n");
  EXPECT_NE(error_of({QKV_SOURCE_DIR "/examples/minilm.safetensors", "--port", "0"}).find("without the page"),
            std::string::npos);
}

TEST(Explore, a_bad_port_is_named) {
  EXPECT_EQ(error_of({"--port", "65536"}), "qkv explore: --port is 65536; expected 0 to 65535\n");
  EXPECT_EQ(error_of({"--port=-1"}), "qkv explore: --port is -1; expected 0 to 65535\n");
  EXPECT_NE(error_of({"--port", "http"}).find("--port 'http': expected a whole number"), std::string::npos);
  EXPECT_NE(error_of({"--prot", "1"}).find("did you mean \"--port\"?"), std::string::npos);
}

TEST(Explore, a_file_is_read_before_anything_is_served) {
  EXPECT_NE(error_of({"no_such_file.json"}).find("\"no_such_file.json\" is neither an example nor a file"),
            std::string::npos);
  const std::string path = ::testing::TempDir() + "explore_broken.json";
  std::ofstream(path) << R"({"q":[[1,2]],"k":[[1]],"v":[[1]]})";
  EXPECT_NE(error_of({path}).find("but D is 2 by q"), std::string::npos) << error_of({path});
}

TEST(Explore, a_browser_that_does_not_open_is_told) {
  EXPECT_EQ(trouble_with("no-such-opener"), "cannot start no-such-opener (No such file or directory)");
  EXPECT_EQ(trouble_with("false"), "false did not open it");
  EXPECT_EQ(trouble_with("true"), "");
}

}  // namespace
}  // namespace qkv::cli
