// The pages that this program was built with.
#ifndef QKV_APPS_SERVER_EMBEDDED_PAGE_H_
#define QKV_APPS_SERVER_EMBEDDED_PAGE_H_

#include <string_view>

#include "apps/server/page.h"

namespace qkv::server {

// Empty in a program that was built with QKV_EMBED_PAGE=OFF. Two libraries define them: qkv_page and qkv_no_page.
const Page& embedded_page();

// The report of a check, one file with a place for its document: for check::to_html().
std::string_view embedded_report();

}  // namespace qkv::server

#endif  // QKV_APPS_SERVER_EMBEDDED_PAGE_H_
