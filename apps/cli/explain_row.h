// One row of attention as a teacher draws it: ① scores ② scaled ③ weights with bars ④ the mix.
#ifndef QKV_APPS_CLI_EXPLAIN_ROW_H_
#define QKV_APPS_CLI_EXPLAIN_ROW_H_

#include <cstdint>

#include "apps/cli/page_writer.h"

namespace qkv::cli {

// The chain of the row that is looked at, in one head.
void write_row(PageWriter& page, std::int64_t head);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_EXPLAIN_ROW_H_
