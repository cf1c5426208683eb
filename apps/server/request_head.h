// What the server looks at before it reads a request's body.
#ifndef QKV_APPS_SERVER_REQUEST_HEAD_H_
#define QKV_APPS_SERVER_REQUEST_HEAD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::server {

struct RequestHead {
  std::string method, target;      // "GET" "/api/opened?x=1"
  std::vector<std::string> hosts;  // every Host field; a good request has one
  std::optional<std::string> origin, fetch_site, fetch_mode, fetch_dest;
  std::optional<std::string> content_type, if_none_match;
  std::optional<std::uint64_t> content_length;  // absent: no body, or one in chunks
  bool is_chunked = false;

  // The target without what follows "?".
  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
};

}  // namespace qkv::server

#endif  // QKV_APPS_SERVER_REQUEST_HEAD_H_
