// Rows named by an index or by a token that occurs once.
#ifndef QKV_SRC_EXPLAIN_ROW_NAMES_H_
#define QKV_SRC_EXPLAIN_ROW_NAMES_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "qkv/status.h"
#include "src/explain/request.h"

namespace qkv {

// The row in [0, count) that `name` means: an index from 0, or a token in either language that occurs once. A token may
// be written without the mark of a word's beginning or continuation (␣ Ġ ▁ ##) where that is unambiguous.
// `subject` begins the message: "row". Errors: kInvalidArgument: outside, unknown (with the nearest), occurs twice.
Result<std::int64_t> find_row(const Words& words, std::string_view name, std::int64_t count, std::string_view subject);

// Whether a text is a whole number such as "12" or "-3", and which.
bool parse_index(std::string_view text, std::int64_t& value);

// The names of a request's query rows and key rows. Keys are named like queries where there are as many and key_tokens
// is absent.
const Words& query_words(const Request& request);
const Words& key_words(const Request& request);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_ROW_NAMES_H_
