// An operation that another one is made of speaks in the caller's name.
#ifndef QKV_SRC_CORE_RENAMED_STATUS_H_
#define QKV_SRC_CORE_RENAMED_STATUS_H_

#include <string>
#include <string_view>

#include "qkv/status.h"

namespace qkv {

// "attention: k has ..." as "attention_decode: k has ...", for theirs = "attention" and ours = "attention_decode".
inline Status renamed(const Status& status, std::string_view theirs, std::string_view ours) {
  const std::string& message = status.message();
  if (!message.starts_with(std::string(theirs) + ":")) return status;
  return {status.code(), std::string(ours) + message.substr(theirs.size())};
}

}  // namespace qkv

#endif  // QKV_SRC_CORE_RENAMED_STATUS_H_
