// The mistakes of `qkv check` by their names.
#ifndef QKV_APPS_CLI_CHECK_MISTAKES_H_
#define QKV_APPS_CLI_CHECK_MISTAKES_H_

#include <string>
#include <vector>

#include "apps/cli/console.h"
#include "src/check/mistake.h"

namespace qkv::cli {

// The policies of --accept. Errors: kInvalidArgument for a name that is none, with the nearest one.
Result<std::vector<check::NamedMistake>> read_accepted(const std::vector<std::string>& names);

// A line each: name, whether --accept takes it, sentence.
void list_mistakes(Console& console);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_CHECK_MISTAKES_H_
