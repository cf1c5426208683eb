// The command line of qkv.
#ifndef QKV_APPS_CLI_CLI_H_
#define QKV_APPS_CLI_CLI_H_

#include <string>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/console.h"

namespace qkv::cli {

// Every subcommand, in the order in which the help lists them.
std::vector<std::unique_ptr<Command>> all_commands();

// Adds the subcommands and the options that belong to the tool itself; what --help prints, and what the completions and
// the man page are made from. Returns the subcommands in the order of `commands`.
std::vector<CLI::App*> add_commands(CLI::App& tool, const std::vector<std::unique_ptr<Command>>& commands);

// Runs one command. `arguments` are those after the program's name. Returns the exit code, see command.h.
int run(const std::vector<std::string>& arguments, Console& console);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_CLI_H_
