// The way back: every gradient beside its central differences.
#ifndef QKV_APPS_CLI_EXPLAIN_BACKWARD_H_
#define QKV_APPS_CLI_EXPLAIN_BACKWARD_H_

#include <cstdint>

#include "apps/cli/page_writer.h"

namespace qkv::cli {

void write_backward(PageWriter& page, std::int64_t head);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_EXPLAIN_BACKWARD_H_
