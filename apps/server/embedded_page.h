// The page that this program was built with.
#ifndef QKV_APPS_SERVER_EMBEDDED_PAGE_H_
#define QKV_APPS_SERVER_EMBEDDED_PAGE_H_

#include "apps/server/page.h"

namespace qkv::server {

// Empty in a program that was built with QKV_EMBED_PAGE=OFF. Two libraries define it: qkv_page and qkv_no_page.
const Page& embedded_page();

}  // namespace qkv::server

#endif  // QKV_APPS_SERVER_EMBEDDED_PAGE_H_
