// Hints that fit the page: another row, another head, another experiment.
#include "apps/cli/explain_hints.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "apps/cli/text.h"

namespace qkv::cli {
namespace {

// A word as a shell takes it.
std::string shell_quoted(const std::string& word) {
  if (!word.empty() && word.find_first_of(" '\"\\$`()[]{}*?!&;|<>~#") == std::string::npos) return word;
  std::string out = "'";
  for (char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// Another row that can be named by its token, or its index.
std::string another_row(const ExplainDocument& document) {
  const std::vector<std::string>& names = document.query_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool once = std::count(names.begin(), names.end(), names[i]) == 1;
    const bool is_word = names[i].size() > 2 && std::isalpha(static_cast<unsigned char>(names[i][0])) != 0;
    if (once && is_word && static_cast<std::int64_t>(i) != document.row()) return shell_quoted(names[i]);
  }
  return "0";
}

}  // namespace

void write_hints(PageWriter& page) {
  const ExplainDocument& document = page.document;
  const std::string example = document.example();
  const bool back = document.json().contains("loss");
  const std::vector<Hint>& hints = !page.style.file.empty() || example.empty() ? page.words.file_hints
                                   : example == "bank"                         ? page.words.bank_hints
                                   : example == "running"                      ? page.words.running_hints
                                   : back                                      ? page.words.backward_done_hints
                                                                               : page.words.backward_hints;
  const std::string head = std::to_string((document.head() + 1) % std::max<std::int64_t>(1, document.dim("Hq")));
  std::vector<std::vector<std::string>> rows;
  for (const Hint& hint : hints) {
    if (hint.arguments.find("{2}") != std::string_view::npos && document.dim("Hq") < 2) continue;
    rows.push_back({"qkv explain " +
                        filled(hint.arguments, {shell_quoted(printable(page.style.file)), another_row(document), head}),
                    std::string(hint.why)});
  }
  page.heading(page.words.try_next);
  Block lines = table(rows, {false, false});
  if (width_of(lines) > page.inner_width()) {  // the reason goes below its command
    lines.clear();
    for (const auto& row : rows) {
      lines.push_back(row[0]);
      for (const std::string& why : wrapped(row[1], page.inner_width(), 4)) lines.push_back(page.style.paint.dim(why));
    }
  }
  page.block(lines);
}

}  // namespace qkv::cli
