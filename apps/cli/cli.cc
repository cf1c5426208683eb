// Dispatch of the subcommands.
#include "apps/cli/cli.h"

namespace qkv::cli {

int run(int /*argc*/, char** /*argv*/) { return 2; }

}  // namespace qkv::cli
