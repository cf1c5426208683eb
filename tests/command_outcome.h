// What a command of the tool prints and ends with, for its tests.
#ifndef QKV_TESTS_COMMAND_OUTCOME_H_
#define QKV_TESTS_COMMAND_OUTCOME_H_

#include <sstream>
#include <string>
#include <vector>

#include "apps/cli/cli.h"
#include "apps/cli/console.h"

namespace qkv::cli {

struct Outcome {
  int code;
  std::string out, err;
};

// The command runs in this process, with a console of that many columns.
inline Outcome outcome_of(const std::string& command, std::vector<std::string> arguments, int width = kPlainWidth,
                          bool color = false) {
  arguments.insert(arguments.begin(), command);
  std::ostringstream out, err;
  Console console{out, err, color, false, width};
  const int code = run(arguments, console);
  return {code, out.str(), err.str()};
}

}  // namespace qkv::cli

#endif  // QKV_TESTS_COMMAND_OUTCOME_H_
