// Text that comes from files: checked as UTF-8, and made safe to print.
#ifndef QKV_SRC_IO_TEXT_H_
#define QKV_SRC_IO_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

// The offset of the first byte that is not UTF-8 (overlong forms and surrogates are not); absent if all of it is.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

// Appends one code point as UTF-8; false for a surrogate or a value above 0x10FFFF.
bool append_utf8(std::uint32_t code_point, std::string& text);

// 'name' for a message: control and non-UTF-8 bytes as \xNN (a file must not steer the terminal), at most 60 bytes.
std::string quoted_name(std::string_view text);

// "[2,3]" of any rank; extents after the eighth become "...".
std::string shape_to_string(const std::vector<std::int64_t>& shape);

}  // namespace qkv

#endif  // QKV_SRC_IO_TEXT_H_
