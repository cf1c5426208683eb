// UTF-8 by its definition (RFC 3629), and quoting.
#include "src/io/text.h"

namespace qkv {
namespace {

unsigned byte_at(std::string_view text, std::size_t index) { return static_cast<unsigned char>(text[index]); }

// Bytes of the sequence that starts at `at`, 0 if it is not UTF-8.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const unsigned lead = byte_at(text, at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : (lead >> 4) == 0xE           ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  if (length == 0 || text.size() - at < length) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((byte_at(text, at + k) & 0xC0) != 0x80) return 0;
  const unsigned second = byte_at(text, at + 1);
  if (lead == 0xE0 && second < 0xA0) return 0;   // overlong
  if (lead == 0xED && second >= 0xA0) return 0;  // surrogate
  if (lead == 0xF0 && second < 0x90) return 0;   // overlong
  if (lead == 0xF4 && second >= 0x90) return 0;  // above 0x10FFFF
  return length;
}

void append_hex(unsigned byte, std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  text += "\\x";
  text += kDigits[byte >> 4];
  text += kDigits[byte & 15];
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text, at);
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

bool append_utf8(std::uint32_t code_point, std::string& text) {
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000)) return false;
  const auto put = [&text](std::uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  const auto continuation = [&](int shift) { put(0x80 | ((code_point >> shift) & 0x3F)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    continuation(0);
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    continuation(6);
    continuation(0);
  } else {
    put(0xF0 | (code_point >> 18));
    continuation(12);
    continuation(6);
    continuation(0);
  }
  return true;
}

std::string quoted_name(std::string_view text) {
  constexpr std::size_t kLongest = 60;  // a message stays on two lines
  std::string safe = "'";
  for (std::size_t at = 0; at < text.size();) {
    if (at >= kLongest) return safe + "...'";
    const std::size_t length = sequence_length(text, at);
    const unsigned lead = byte_at(text, at);
    // C1 controls (U+0080 to U+009F) steer terminals as well as C0 does.
    const bool is_c1 = length == 2 && lead == 0xC2 && byte_at(text, at + 1) < 0xA0;
    if (length == 0 || lead < 0x20 || lead == 0x7F || is_c1) {
      append_hex(lead, safe);
      ++at;
    } else {
      safe += text.substr(at, length);
      at += length;
    }
  }
  return safe + "'";
}

std::string shape_to_string(const std::vector<std::int64_t>& shape) {
  constexpr std::size_t kShown = 8;
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ",";
    if (axis == kShown) return text + "...]";
    text += std::to_string(shape[axis]);
  }
  return text + "]";
}

}  // namespace qkv
