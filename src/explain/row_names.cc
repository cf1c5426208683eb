// Looking up a row by its name.
#include "src/explain/row_names.h"

#include <charconv>
#include <vector>

#include "src/core/did_you_mean.h"

namespace qkv {
namespace {

// Marks with which tokenizers begin or continue a word: the lesson's, GPT-2's, SentencePiece's, BERT's.
constexpr std::string_view kMarks[] = {"␣", "Ġ", "▁", "##"};

std::string_view without_mark(std::string_view token) {
  for (std::string_view mark : kMarks)
    if (token.size() > mark.size() && token.substr(0, mark.size()) == mark) return token.substr(mark.size());
  return token;
}

// Rows whose name in either language equals `name`, after `simplify` has been applied to both.
template <class Simplify>
std::vector<std::int64_t> rows_called(const Words& words, std::string_view name, Simplify simplify) {
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < words.en.size(); ++i)
    if (simplify(words.en[i]) == simplify(name) || simplify(words.pt[i]) == simplify(name))
      rows.push_back(static_cast<std::int64_t>(i));
  return rows;
}

std::string sentence(std::string_view subject, std::string_view name) {
  return "explain: " + std::string(subject) + " " + quote(name);
}

std::string listed(const std::vector<std::int64_t>& rows) {
  constexpr std::size_t kMost = 6;  // enough to see the point
  std::string text;
  for (std::size_t i = 0; i < rows.size() && i < kMost; ++i)
    text += (i == 0 ? "" : i + 1 == rows.size() ? " and " : ", ") + std::to_string(rows[i]);
  return rows.size() > kMost ? text + " …" : text;
}

Status unknown(const Words& words, std::string_view name, std::string_view subject) {
  constexpr std::size_t kMost = 8;  // tokens of a list in a message
  std::vector<std::string> known = words.en;
  known.insert(known.end(), words.pt.begin(), words.pt.end());
  std::string text = sentence(subject, name) + " is not a token";
  if (const std::string near = did_you_mean(name, known); !near.empty()) return invalid_argument(text + near);
  text += "; say an index from 0, or one of";
  for (std::size_t i = 0; i < words.en.size() && i < kMost; ++i) text += " " + quote(words.en[i]);
  return invalid_argument(text + (words.en.size() > kMost ? " …" : ""));
}

}  // namespace

bool parse_index(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Result<std::int64_t> find_row(const Words& words, std::string_view name, std::int64_t count, std::string_view subject) {
  std::vector<std::int64_t> rows = rows_called(words, name, [](std::string_view text) { return text; });
  std::int64_t index = 0;
  if (rows.size() != 1 && parse_index(name, index)) {
    if (index >= 0 && index < count) return index;
    return invalid_argument("explain: " + std::string(subject) + " " + std::to_string(index) + " is outside 0 … " +
                            std::to_string(count - 1));
  }
  if (rows.empty()) rows = rows_called(words, name, without_mark);
  if (rows.size() > 1)
    return invalid_argument(sentence(subject, name) + " occurs at " + listed(rows) + "; say which by its index");
  if (rows.size() == 1 && rows[0] < count) return rows[0];
  if (!words.is_present())
    return invalid_argument(sentence(subject, name) + " is not an index, and there are no tokens to look it up in");
  return unknown(words, name, subject);
}

const Words& query_words(const Request& request) { return request.tokens; }

const Words& key_words(const Request& request) {
  if (request.key_tokens.is_present()) return request.key_tokens;
  static const Words kNone;
  const Numbers* q = request.find("q");
  const Numbers* k = request.find("k");
  if (q != nullptr && k != nullptr && q->shape[2] != k->shape[2]) return kNone;
  return request.tokens;
}

}  // namespace qkv
