// Host, Origin and Sec-Fetch-Site.
#include "apps/server/gate.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace qkv::server {
namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Whether `host` is this machine at `port`: "127.0.0.1:8758"; without a port it means 80.
bool is_here(const std::string& host, std::uint16_t port) {
  for (const char* name : {"127.0.0.1", "localhost", "[::1]"}) {
    if (host == name + (":" + std::to_string(port))) return true;
    if (port == 80 && host == name) return true;
  }
  return false;
}

// A reader who follows a link to the page: the browser shows it by itself and gives it to nobody.
bool opens_the_page(const RequestHead& head) {
  return (head.method == "GET" || head.method == "HEAD") && head.fetch_mode == "navigate" &&
         head.fetch_dest == "document" && !head.path().starts_with("/api/");
}

}  // namespace

std::optional<Answer> refuse_foreign(const RequestHead& head, std::uint16_t port) {
  if (head.hosts.size() != 1)
    return error_answer(400, "expected one Host field, found " + std::to_string(head.hosts.size()));
  const std::string host = lower(head.hosts.front());
  if (!is_here(host, port))
    return error_answer(
        421, "this server is 127.0.0.1:" + std::to_string(port) +
                 "; a request with another Host is not answered. Open http://127.0.0.1:" + std::to_string(port) + "/");
  if (head.origin && lower(*head.origin) != "http://" + host)
    return error_answer(403, "another origin may not ask this server; open its page at http://" + host + "/");
  const bool own = !head.fetch_site || *head.fetch_site == "same-origin" || *head.fetch_site == "none";
  if (!own && !opens_the_page(head))
    return error_answer(403, "another site may not ask this server; open its page at http://" + host + "/");
  return std::nullopt;
}

}  // namespace qkv::server
