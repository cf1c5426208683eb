// Bytes that claim to be an HTTP request: parsed with the server's limits, then looked at as the server does.
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/none.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "apps/server/limits.h"
#include "apps/server/parsed_head.h"
#include "apps/server/site.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  namespace http = boost::beast::http;
  static const qkv::server::Limits limits;
  static const qkv::server::Site site{qkv::server::Page()};
  http::request_parser<http::string_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(limits.header_bytes));
  parser.body_limit(boost::none);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(bytes, count), error);
  if (error || !parser.is_header_done()) return 0;
  std::optional<std::uint64_t> length;
  if (parser.content_length()) length = *parser.content_length();
  const qkv::server::RequestHead head = qkv::server::head_of(parser.get(), parser.chunked(), length);
  constexpr std::uint16_t kPort = 8758;
  if (const auto answer = site.answer(head, kPort, limits)) static_cast<void>(header_text(*answer, false));
  return 0;
}
