// --help: the options of a command and its examples, as wide as the terminal.
#ifndef QKV_APPS_CLI_HELP_PAGE_H_
#define QKV_APPS_CLI_HELP_PAGE_H_

#include <string>
#include <vector>

#include "apps/cli/option_list.h"

namespace qkv::cli {

// The page of commands[index], in lines of at most `width` columns; an example's command is never broken. `commands` as
// command_texts() gives them: the tool first, whose page lists the others.
std::string help_page(const std::vector<CommandText>& commands, std::size_t index, int width);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_HELP_PAGE_H_
