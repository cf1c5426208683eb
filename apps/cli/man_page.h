// The manual page, made from the same texts as --help.
#ifndef QKV_APPS_CLI_MAN_PAGE_H_
#define QKV_APPS_CLI_MAN_PAGE_H_

#include <string>
#include <vector>

#include "apps/cli/option_list.h"

namespace qkv::cli {

// The page qkv(1) in roff. `commands` as command_texts() gives them: the tool first.
std::string man_page(const std::vector<CommandText>& commands);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_MAN_PAGE_H_
