// What is where: the page, the two addresses under /api, and the rules for asking them.
#ifndef QKV_APPS_SERVER_SITE_H_
#define QKV_APPS_SERVER_SITE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "apps/server/answer.h"
#include "apps/server/limits.h"
#include "apps/server/page.h"
#include "apps/server/request_head.h"

namespace qkv::server {

class Site {
 public:
  // `opened`: the JSON that GET /api/opened gives, "null" without a file.
  explicit Site(Page page, std::string opened = "null") : page_(std::move(page)), opened_(std::move(opened)) {}

  // The answer to a request that can be given without its body; absent for a good POST /api/explain.
  // Constraint: the answer may point into this site.
  std::optional<Answer> answer(const RequestHead& head, std::uint16_t port, const Limits& limits) const;

 private:
  std::optional<Answer> decide(const RequestHead& head, std::uint16_t port, const Limits& limits) const;
  Answer file(const RequestHead& head) const;
  Answer opened(const RequestHead& head) const;

  Page page_;
  std::string opened_;
};

// The document that explains `request`, or 400 with explain's message; 413 for what would be too large. Never throws.
Answer explained(const std::string& request);

}  // namespace qkv::server

#endif  // QKV_APPS_SERVER_SITE_H_
