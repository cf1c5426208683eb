// Copies the fields that matter.
#include "apps/server/parsed_head.h"

#include <boost/beast/http/field.hpp>
#include <string>

namespace qkv::server {
namespace {

namespace http = boost::beast::http;

using Fields = http::request<http::string_body>;

template <class Name>
std::optional<std::string> field(const Fields& request, Name name) {
  const auto found = request.find(name);
  if (found == request.end()) return std::nullopt;
  return std::string(found->value().data(), found->value().size());
}

}  // namespace

RequestHead head_of(const Fields& request, bool is_chunked, std::optional<std::uint64_t> length) {
  RequestHead head;
  head.method.assign(request.method_string().data(), request.method_string().size());
  head.target.assign(request.target().data(), request.target().size());
  const auto [begin, end] = request.equal_range(http::field::host);
  for (auto each = begin; each != end; ++each) head.hosts.emplace_back(each->value().data(), each->value().size());
  head.origin = field(request, http::field::origin);
  head.fetch_site = field(request, "Sec-Fetch-Site");
  head.fetch_mode = field(request, "Sec-Fetch-Mode");
  head.fetch_dest = field(request, "Sec-Fetch-Dest");
  head.content_type = field(request, http::field::content_type);
  head.if_none_match = field(request, http::field::if_none_match);
  head.content_length = length;
  head.is_chunked = is_chunked;
  return head;
}

}  // namespace qkv::server
