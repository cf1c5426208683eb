// Routes.
#include "apps/server/site.h"

#include <cctype>
#include <exception>
#include <string_view>
#include <utility>

#include "apps/server/gate.h"
#include "qkv/explain.h"
#include "src/core/did_you_mean.h"

namespace qkv::server {
namespace {

bool reads(const RequestHead& head) { return head.method == "GET" || head.method == "HEAD"; }

Answer wrong_method(const RequestHead& head, const std::string& allowed) {
  Answer answer =
      error_answer(405, std::string(head.path()) + " takes " + allowed + ", found " + head.method.substr(0, 20));
  answer.more = "Allow: " + allowed + "\r\n";
  return answer;
}

// "application/json", whatever its case and parameters.
bool is_json(const std::optional<std::string>& type) {
  constexpr std::string_view kJson = "application/json";
  if (!type) return false;
  std::string name = type->substr(0, type->find(';'));
  while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.pop_back();
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name == kJson;
}

// Why the body of POST /api/explain is not read; absent if it is.
std::optional<Answer> refuse_body(const RequestHead& head, const Limits& limits) {
  if (head.method != "POST") return wrong_method(head, "POST");
  if (!is_json(head.content_type))
    return error_answer(415, "expected Content-Type: application/json, found " +
                                 (head.content_type ? quote(*head.content_type) : std::string("none")));
  if (!head.content_length || head.is_chunked)
    return error_answer(411, "expected a Content-Length; a body in chunks is not taken");
  if (*head.content_length > limits.body_bytes)
    return error_answer(413, "the request has " + std::to_string(*head.content_length) + " bytes, at most " +
                                 std::to_string(limits.body_bytes) + " are taken; cut it to fewer tokens or heads");
  return std::nullopt;
}

}  // namespace

std::optional<Answer> Site::answer(const RequestHead& head, std::uint16_t port, const Limits& limits) const {
  std::optional<Answer> answer = decide(head, port, limits);
  if (answer) answer->without_body = head.method == "HEAD";
  return answer;
}

std::optional<Answer> Site::decide(const RequestHead& head, std::uint16_t port, const Limits& limits) const {
  if (!head.target.starts_with('/')) return error_answer(400, "expected a path that starts with /");
  if (std::optional<Answer> refusal = refuse_foreign(head, port)) return refusal;
  if (head.path() == "/api/explain") return refuse_body(head, limits);
  return head.path() == "/api/opened" ? opened(head) : file(head);
}

Answer Site::opened(const RequestHead& head) const {
  if (!reads(head)) return wrong_method(head, "GET, HEAD");
  Answer answer;
  answer.bytes = opened_;
  return answer;
}

Answer Site::file(const RequestHead& head) const {
  const Asset* asset = find(page_, head.path());
  if (asset == nullptr) return error_answer(404, "there is nothing at " + quote(head.path()) + "; the page is at /");
  if (!reads(head)) return wrong_method(head, "GET, HEAD");
  const std::string tag = "\"" + std::string(asset->tag) + "\"";
  Answer answer;
  answer.content_type = content_type(asset->path);
  answer.cache = is_named_by_hash(asset->path) ? "public, max-age=31536000, immutable" : "no-cache";
  answer.more = "ETag: " + tag + "\r\n";
  if (head.if_none_match && head.if_none_match->find(tag) != std::string::npos)
    answer.status = 304;
  else
    answer.bytes = asset->bytes;
  return answer;
}

Answer explained(const std::string& request) {
  try {
    Result<std::string> document = explain(request);
    if (document.is_ok()) {
      Answer answer;
      answer.text = std::move(document).value();
      return answer;
    }
    const bool too_large = document.code() == StatusCode::kUnsupported || document.code() == StatusCode::kOutOfMemory;
    return error_answer(too_large ? 413 : 400, document.status().message());
  } catch (const std::exception&) {  // std::bad_alloc
    return error_answer(413, "explain: there is not enough memory for this request; take fewer tokens or heads");
  }
}

}  // namespace qkv::server
