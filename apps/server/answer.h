// What the server sends back, and the header that every answer carries.
#ifndef QKV_APPS_SERVER_ANSWER_H_
#define QKV_APPS_SERVER_ANSWER_H_

#include <string>
#include <string_view>

namespace qkv::server {

struct Answer {
  int status = 200;
  std::string content_type = "application/json";
  std::string cache = "no-store";
  std::string more;           // further header lines, each with its "\r\n": "Allow: GET, HEAD\r\n"
  std::string text;           // the body, or
  std::string_view bytes;     // memory that outlives the server, if `text` is empty
  bool without_body = false;  // to HEAD: the header as if there was one

  std::string_view body() const { return text.empty() ? bytes : std::string_view(text); }
};

// {"error":{"message":...}}
Answer error_answer(int status, std::string_view message);

// "HTTP/1.1 200 OK\r\n" and everything up to the body.
std::string header_text(const Answer& answer, bool keep_alive);

}  // namespace qkv::server

#endif  // QKV_APPS_SERVER_ANSWER_H_
