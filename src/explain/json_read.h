// Reads JSON text strictly: errors have a line and a column, a repeated key is an error, nesting is bounded.
#ifndef QKV_SRC_EXPLAIN_JSON_READ_H_
#define QKV_SRC_EXPLAIN_JSON_READ_H_

#include <nlohmann/json.hpp>
#include <string_view>

#include "qkv/status.h"

namespace qkv {

using Json = nlohmann::ordered_json;  // keeps the order of the text, so that the first mistake is the one reported

// Errors: kInvalidArgument: `explain: the request is not JSON: line 1, column 2: ...`. Never throws on any bytes.
Result<Json> read_json(std::string_view text);

// "a number", "a list" ...: what a value is, for messages.
std::string_view kind_of(const Json& value);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_JSON_READ_H_
