// The page that `qkv explain` prints, made from the document alone.
#ifndef QKV_APPS_CLI_EXPLAIN_PAGE_H_
#define QKV_APPS_CLI_EXPLAIN_PAGE_H_

#include <string>

#include "apps/cli/explain_document.h"
#include "apps/cli/page_writer.h"

namespace qkv::cli {

std::string explain_page(const ExplainDocument& document, const PageStyle& style);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_EXPLAIN_PAGE_H_
