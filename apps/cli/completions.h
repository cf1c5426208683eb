// What the shell offers after a tab, made from the same texts as --help.
#ifndef QKV_APPS_CLI_COMPLETIONS_H_
#define QKV_APPS_CLI_COMPLETIONS_H_

#include <string>
#include <vector>

#include "apps/cli/option_list.h"

namespace qkv::cli {

// A script for the shell to source. `commands` as command_texts() gives them: the tool first.
std::string bash_completions(const std::vector<CommandText>& commands);
std::string zsh_completions(const std::vector<CommandText>& commands);
std::string fish_completions(const std::vector<CommandText>& commands);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_COMPLETIONS_H_
