// What to try next, at the end of a page.
#ifndef QKV_APPS_CLI_EXPLAIN_HINTS_H_
#define QKV_APPS_CLI_EXPLAIN_HINTS_H_

#include "apps/cli/page_writer.h"

namespace qkv::cli {

void write_hints(PageWriter& page);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_EXPLAIN_HINTS_H_
