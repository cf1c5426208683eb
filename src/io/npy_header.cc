// Parses and writes npy headers.
#include "src/io/npy_header.h"

#include <algorithm>
#include <limits>

#include "src/core/status_macros.h"
#include "src/io/text.h"

namespace qkv {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignment = 64;           // what NumPy pads to since 1.14
constexpr std::size_t kLongestHeader = 1 << 20;  // ours is 128 bytes; only structured types grow
constexpr int kDeepestLiteral = 32;              // of a structured type that is skipped

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t little_endian(std::span<const std::byte> bytes) {
  std::size_t value = 0;
  for (std::size_t k = bytes.size(); k > 0; --k) value = value << 8 | std::to_integer<std::size_t>(bytes[k - 1]);
  return value;
}

// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } and nothing else. Every step returns false on an error.
class HeaderLiteral {
 public:
  explicit HeaderLiteral(std::string_view text) : text_(text) {}

  Result<NpyHeader> parse() {
    if (entries() && rest_is_space()) return std::move(header_);
    return corrupt_file("npy header: expected " + expected_ + " at byte " + std::to_string(at_) + " of " +
                        quoted_name(text_));
  }

 private:
  bool entries() {
    if (!take('{', "'{'")) return false;
    while (!peek('}')) {
      if (!entry()) return false;
      if (!peek('}') && !take(',', "',' or '}'")) return false;
    }
    ++at_;
    return (has_descr_ && has_order_ && has_shape_) || fail("descr, fortran_order and shape, all three,");
  }

  bool entry() {
    std::string key;
    if (!string(key, "one of the keys 'descr' 'fortran_order' 'shape'") || !take(':', "':'")) return false;
    if (key == "descr" && !has_descr_) return has_descr_ = descr();
    if (key == "fortran_order" && !has_order_) return has_order_ = boolean();
    if (key == "shape" && !has_shape_) return has_shape_ = shape();
    return fail("each of the keys 'descr' 'fortran_order' 'shape' once, found " + quoted_name(key));
  }

  bool descr() {
    if (!peek('[') && !peek('(')) return string(header_.descr, "a type as a string");
    const std::size_t begin = at_;
    if (!skip_literal()) return false;
    header_.descr = text_.substr(begin, at_ - begin);
    return true;
  }

  // Over a structured type: brackets that match, strings inside them taken whole.
  bool skip_literal() {
    std::string closers;
    do {
      if (at_ == text_.size()) return fail("the end of a structured type");
      const char c = text_[at_];
      if (c == '\'' || c == '"') {
        std::string ignored;
        if (!string(ignored, "a string")) return false;
        continue;
      }
      if (c == '[' || c == '(') closers += c == '[' ? ']' : ')';
      if (c == ']' || c == ')') {
        if (closers.back() != c) return fail("a matching bracket");
        closers.pop_back();
      }
      if (closers.size() > kDeepestLiteral) return fail("fewer brackets");
      ++at_;
    } while (!closers.empty());
    return true;
  }

  bool boolean() {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      header_.fortran_order = value;
      return true;
    }
    return fail("True or False");
  }

  bool shape() {
    if (!take('(', "a shape such as (2, 3)")) return false;
    bool after_comma = true;  // (3) is a number in brackets, not a tuple
    while (!peek(')')) {
      if (!after_comma) return fail("',' or ')'");
      if (!extent()) return false;
      after_comma = peek(',');
      if (after_comma) ++at_;
    }
    if (header_.shape.size() == 1 && !after_comma) return fail("',' after the only extent");
    ++at_;
    return true;
  }

  bool extent() {
    skip_space();
    const std::size_t begin = at_;
    std::int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text_[at_] - '0', &value))
        return fail("an extent below 2^63");
    if (at_ == begin) return fail("a non-negative integer");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // a long of Python 2
    header_.shape.push_back(value);
    return true;
  }

  bool string(std::string& value, const std::string& expected) {
    skip_space();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return fail(expected);
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return fail("the end of a string");
    value = text_.substr(at_ + 1, end - at_ - 1);
    if (value.find('\\') != std::string::npos) return fail("a string without escapes");
    at_ = end + 1;
    return true;
  }

  bool rest_is_space() {
    skip_space();
    return at_ == text_.size() || fail("nothing but spaces after '}'");
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  bool peek(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }

  bool take(char c, const std::string& expected) {
    if (!peek(c)) return fail(expected);
    ++at_;
    return true;
  }

  bool fail(std::string expected) {
    if (expected_.empty()) expected_ = std::move(expected);
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string expected_;
  NpyHeader header_;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

// Bytes of magic, version and length.
std::size_t preamble_of(std::byte major) { return major == std::byte{1} ? 10 : 12; }

}  // namespace

Result<std::size_t> npy_data_offset(std::span<const std::byte> start, std::uint64_t file_size) {
  const std::string has = std::to_string(file_size);
  if (start.size() < kNpyPreamble || as_text(start).substr(0, kMagic.size()) != kMagic)
    return corrupt_file("expected an npy array, which starts with \\x93NUMPY; found " + has + " bytes that do not");
  const int major = std::to_integer<int>(start[6]);
  const int minor = std::to_integer<int>(start[7]);
  if (major < 1 || major > 3 || minor != 0)
    return unsupported("npy version " + std::to_string(major) + "." + std::to_string(minor) +
                       " is unknown; expected 1.0, 2.0 or 3.0");
  const std::size_t preamble = preamble_of(start[6]);
  const std::size_t length = little_endian(start.subspan(8, preamble - 8));
  if (length > file_size - preamble)
    return corrupt_file("npy header says " + std::to_string(length) + " bytes, but the file has " + has);
  if (length > kLongestHeader)
    return unsupported("npy header says " + std::to_string(length) + " bytes; qkv reads at most 1048576");
  return preamble + length;
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> head) {
  return HeaderLiteral(as_text(head.subspan(preamble_of(head[6])))).parse();
}

std::string format_npy_header(std::string_view descr, std::span<const std::int64_t> shape) {
  std::string literal = "{'descr': '";
  literal.append(descr).append("', 'fortran_order': False, 'shape': (");
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    literal.append(axis > 0 ? " " : "")
        .append(std::to_string(shape[axis]))
        .append(axis == 0 || axis + 1 < shape.size() ? "," : "");
  literal += "), }";
  const std::size_t end = preamble_of(std::byte{1}) + literal.size() + 1;
  literal.append((kAlignment - end % kAlignment) % kAlignment, ' ').push_back('\n');
  std::string head(kMagic);
  head.append({'\1', '\0'});
  head += static_cast<char>(literal.size() & 0xFF);
  head += static_cast<char>(literal.size() >> 8);  // at most four extents: far below 65536
  return head + literal;
}

}  // namespace qkv
