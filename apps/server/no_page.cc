// Stands in for the pages where none are embedded: in the tests, and with QKV_EMBED_PAGE=OFF.
#include "apps/server/embedded_page.h"

namespace qkv::server {

const Page& embedded_page() {
  static const Page none;
  return none;
}

std::string_view embedded_report() { return {}; }

}  // namespace qkv::server
