// One row of attention as a teacher draws it: ① scores ② scaled ③ weights with bars ④ the mix.
#ifndef QKV_APPS_CLI_EXPLAIN_ROW_H_
#define QKV_APPS_CLI_EXPLAIN_ROW_H_

#include <cstdint>

#include "apps/cli/page_writer.h"

namespace qkv::cli {

// The chain of the row that is looked at, in one head.
void write_row(PageWriter& page, std::int64_t head);

// For every query the keys with the largest weights. Constraint: `head` is the one that the document looks at.
void write_who_looks_at_whom(PageWriter& page);

// "bank looks at river most, with 0.62; then ...": what the row says, and what is behind it.
void write_reading(PageWriter& page);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_EXPLAIN_ROW_H_
