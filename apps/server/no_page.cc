// Stands in for the page where none is embedded: in the tests, and with QKV_EMBED_PAGE=OFF.
#include "apps/server/embedded_page.h"

namespace qkv::server {

const Page& embedded_page() {
  static const Page none;
  return none;
}

}  // namespace qkv::server
