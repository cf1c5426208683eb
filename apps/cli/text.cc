// UTF-8 and column arithmetic.
#include "apps/cli/text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace qkv::cli {
namespace {

constexpr std::string_view kNoBreak = "\xC2\xA0";          // U+00A0
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool is_valid = false;
};

// The first character of a text that is not empty. Overlong forms, surrogates and cut sequences are not valid.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xF0 && lead < 0xF5   ? 4
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                                                           : 0;
  if (length == 0 || text.size() < length) return {};
  std::uint32_t code = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {};
  return {code, length, true};
}

struct Range {
  std::uint32_t first, last;
};

// Combining marks, joiners, variation selectors, soft hyphen: what takes no column of its own.
constexpr Range kZeroWidth[] = {
    {0xAD, 0xAD},     {0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},   {0x610, 0x61A},     {0x64B, 0x65F},
    {0x93C, 0x93C},   {0x94D, 0x94D},   {0xE31, 0xE31},   {0xE34, 0xE3A},   {0xE47, 0xE4E},     {0x1AB0, 0x1AFF},
    {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064}, {0x20D0, 0x20FF},   {0x302A, 0x302D},
    {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0x1F3FB, 0x1F3FF}, {0xE0000, 0xE01EF}};

// East Asian Wide and Fullwidth (Unicode's EastAsianWidth.txt, its large blocks) and emoji.
constexpr Range kDoubleWidth[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x2614, 0x2615},   {0x26A1, 0x26A1},  {0x2705, 0x2705},
    {0x274C, 0x274C},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},  {0xA000, 0xA4CF},
    {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6},
    {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD}};

template <std::size_t N>
bool is_in(const Range (&ranges)[N], std::uint32_t code) {
  for (const Range& range : ranges)
    if (code >= range.first && code <= range.last) return true;
  return false;
}

int width_of(std::uint32_t code) {
  if (code < 0x20 || code == 0x7F) return 0;
  if (is_in(kZeroWidth, code)) return 0;
  return is_in(kDoubleWidth, code) ? 2 : 1;
}

// Bytes of a colour sequence at the start of the text, 0 if there is none.
std::size_t color_sequence(std::string_view text) {
  if (text.size() < 2 || text[0] != '\x1b' || text[1] != '[') return 0;
  const std::size_t end = text.find('m');
  return end == std::string_view::npos ? 0 : end + 1;
}

std::string_view visible_sign(std::uint32_t code) {
  switch (code) {
    case '\n': return "⏎";
    case '\t': return "→";
    default: return "·";
  }
}

// Characters that reorder what follows them: a token must not turn a line around.
bool is_bidi_control(std::uint32_t code) {
  return (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    if (const std::size_t skip = color_sequence(text); skip > 0) {
      text.remove_prefix(skip);
      continue;
    }
    const Character character = first_character(text);
    width += character.is_valid ? width_of(character.code) : 1;
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character character = first_character(text);
    const std::uint32_t code = character.code;
    if (!character.is_valid)
      out += kReplacement;
    else if (code < 0x20 || (code >= 0x7F && code < 0xA0) || is_bidi_control(code))
      out += visible_sign(code);
    else
      out += text.substr(0, character.bytes);
    text.remove_prefix(character.bytes);
  }
  return out;
}

std::string repeated(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

std::string pad_left(std::string_view text, int width) {
  return repeated(" ", width - display_width(text)) + std::string(text);
}

std::string pad_right(std::string_view text, int width) {
  return std::string(text) + repeated(" ", width - display_width(text));
}

std::string cut(std::string_view text, int width) {
  if (display_width(text) <= width) return std::string(text);
  std::string out;
  int used = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    const int next = character.is_valid ? width_of(character.code) : 1;
    if (used + next > width - 1) break;
    out += text.substr(0, character.bytes);
    used += next;
    text.remove_prefix(character.bytes);
  }
  return width > 0 ? out + "…" : "";
}

std::vector<std::string> wrapped(std::string_view text, int width, int indent) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!line.empty() && indent + display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(repeated(" ", indent) + line);
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
  }
  if (!line.empty()) lines.push_back(repeated(" ", indent) + line);
  for (std::string& each : lines)
    for (std::size_t at = each.find(kNoBreak); at != std::string::npos; at = each.find(kNoBreak))
      each.replace(at, kNoBreak.size(), " ");
  return lines;
}

std::string filled(std::string_view text, std::initializer_list<std::string> values) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_slot = i + 2 < text.size() && text[i] == '{' && text[i + 2] == '}';
    const auto slot = is_slot ? static_cast<std::size_t>(text[i + 1] - '0') : values.size();
    if (is_slot && slot < values.size()) {
      out += values.begin()[slot];
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string shell_word(const std::string& text) {
  const bool is_plain = std::ranges::all_of(text, [](const char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_./:@%+=,-").find(c) != std::string_view::npos;
  });
  if (is_plain) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace qkv::cli
