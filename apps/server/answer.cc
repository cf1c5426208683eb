// Headers are written by hand: they are few, and every answer has the same.
#include "apps/server/answer.h"

#include <nlohmann/json.hpp>

namespace qkv::server {
namespace {

// No other origin may read, frame, or feed the page; WebAssembly is allowed because the static page is the same one.
constexpr std::string_view kSecurity =
    "Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

std::string_view reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 421: return "Misdirected Request";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    default: return "Error";
  }
}

}  // namespace

Answer error_answer(int status, std::string_view message) {
  using Json = nlohmann::json;
  Answer answer;
  answer.status = status;
  const Json document = {{"error", {{"message", message}}}};
  answer.text = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  return answer;
}

std::string header_text(const Answer& answer, bool keep_alive) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " " + std::string(reason(answer.status)) + "\r\n";
  if (answer.status != 304)
    text +=
        "Content-Type: " + answer.content_type + "\r\nContent-Length: " + std::to_string(answer.body().size()) + "\r\n";
  text += "Cache-Control: " + answer.cache + "\r\n" + answer.more;
  text += keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  return text.append(kSecurity).append("\r\n");
}

}  // namespace qkv::server
