// One subcommand of the tool. To add one: write command_NAME.cc with a class and its make_NAME_command(), declare that
// below, and add it to the list in cli.cc.
#ifndef QKV_APPS_CLI_COMMAND_H_
#define QKV_APPS_CLI_COMMAND_H_

#include <memory>

#include "apps/cli/console.h"
#include "qkv/status.h"

namespace CLI {
class App;
}

namespace qkv::cli {

// The tool's exit codes.
inline constexpr int kDone = 0;         // or: right
inline constexpr int kWrong = 1;        // a check found a mistake
inline constexpr int kBadInput = 2;     // usage, a file, a shape, an option
inline constexpr int kCannotJudge = 3;  // a check without enough to go by

class Command {
 public:
  virtual ~Command() = default;

  // Adds the subcommand with its options, description and footer (examples) and returns it. Option values are written
  // to members, so the command must outlive the parse.
  virtual CLI::App* add(CLI::App& tool) = 0;

  // Does the work and returns the exit code. An error is printed by the caller as `qkv NAME: message` with code 2; the
  // message is one or two lines that say what to do.
  virtual Result<int> run(Console& console) = 0;
};

std::unique_ptr<Command> make_explain_command();
std::unique_ptr<Command> make_explore_command();
std::unique_ptr<Command> make_run_command();
std::unique_ptr<Command> make_check_command();
std::unique_ptr<Command> make_survey_command();
std::unique_ptr<Command> make_map_command();
std::unique_ptr<Command> make_shapes_command();
std::unique_ptr<Command> make_bench_command();
std::unique_ptr<Command> make_info_command();
std::unique_ptr<Command> make_man_command();
std::unique_ptr<Command> make_completions_command();

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_COMMAND_H_
