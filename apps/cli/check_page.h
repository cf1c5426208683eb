// What `qkv check` prints for people: the verdict in one sentence, then the evidence for it.
#ifndef QKV_APPS_CLI_CHECK_PAGE_H_
#define QKV_APPS_CLI_CHECK_PAGE_H_

#include <string>

#include "apps/cli/block.h"
#include "src/check/check.h"

namespace qkv::cli {

struct CheckPageStyle {
  int width = 80;
  Paint paint;
  std::string problem;  // of files: what was said of their options, at least "attention"; else ""
};

std::string check_page(const check::CheckReport& report, const CheckPageStyle& style);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_CHECK_PAGE_H_
