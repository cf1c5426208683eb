// A list of strings as JSON text, the form in which safetensors metadata carries tokens.
#ifndef QKV_SRC_IO_JSON_STRINGS_H_
#define QKV_SRC_IO_JSON_STRINGS_H_

#include <string>
#include <string_view>
#include <vector>

#include "qkv/status.h"

namespace qkv {

// Errors: kCorruptFile unless the text is a JSON list of strings and nothing else.
Result<std::vector<std::string>> parse_json_strings(std::string_view text);

// Constraint: every string is UTF-8; what is not is replaced by U+FFFD.
std::string format_json_strings(const std::vector<std::string>& strings);

}  // namespace qkv

#endif  // QKV_SRC_IO_JSON_STRINGS_H_
