// The files of the explorer's page, held in memory and found by their path.
#ifndef QKV_APPS_SERVER_PAGE_H_
#define QKV_APPS_SERVER_PAGE_H_

#include <string_view>
#include <vector>

namespace qkv::server {

struct Asset {
  std::string_view path;   // "/index.html" "/assets/main-BX3kz0pQ.js"
  std::string_view bytes;  // outlives every server
  std::string_view tag;    // changes when the bytes do; without quotes
};

using Page = std::vector<Asset>;

// The asset at a path, "/" being "/index.html"; null if there is none. Paths are compared as they are: nothing is
// decoded and no ".." is resolved, so no path can leave the page.
const Asset* find(const Page& page, std::string_view path);

// "text/html; charset=utf-8", by the end of the name; "application/octet-stream" for one that is not known.
std::string_view content_type(std::string_view path);

// Whether the name holds a hash of the bytes, "main-BX3kz0pQ.js" under /assets/: it may be kept for ever.
bool is_named_by_hash(std::string_view path);

}  // namespace qkv::server

#endif  // QKV_APPS_SERVER_PAGE_H_
