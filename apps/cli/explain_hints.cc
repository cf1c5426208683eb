// Hints that fit the page: another row, another head, another experiment.
#include "apps/cli/explain_hints.h"

#include <algorithm>
#include <cctype>
#include <sstream>
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

// The options of "running --head 1 --causal", as given ones; `what` becomes its first word.
std::vector<GivenOption> options_of(const std::string& arguments, std::string& what) {
  std::istringstream words(arguments);
  std::vector<GivenOption> options;
  words >> what;
  for (std::string word; words >> word;) {
    if (word.starts_with("--"))
      options.push_back({word, ""});
    else if (options.empty())
      what += ' ' + word;  // a file's name with spaces, quoted
    else
      options.back().value += (options.back().value.empty() ? "" : " ") + word;
  }
  return options;
}

// Whether an option that was given has no place beside one of a hint: the same again, or another scale.
bool gives_way(const GivenOption& given, const GivenOption& hinted) {
  const bool both_scale = given.name.ends_with("scale") && hinted.name.ends_with("scale");
  return given.name == hinted.name || both_scale;
}

// The hint's command with what the user gave before; "" if all that it adds was given.
std::string command_of(const std::string& arguments, const std::vector<GivenOption>& given) {
  std::string what, kept, added;
  bool is_new = false;
  const std::vector<GivenOption> hinted = options_of(arguments, what);
  for (const GivenOption& option : given) {
    if (std::any_of(hinted.begin(), hinted.end(), [&](const GivenOption& each) { return gives_way(option, each); }))
      continue;
    kept += ' ' + option.name;
    if (!option.value.empty()) kept += (option.name == "--causal" ? "=" : " ") + shell_quoted(printable(option.value));
  }
  for (const GivenOption& option : hinted) {
    added += ' ' + option.name + (option.value.empty() ? "" : " " + option.value);
    const bool was_given = std::any_of(given.begin(), given.end(), [&](const GivenOption& each) {
      return each.name == option.name && (option.value.empty() || shell_quoted(each.value) == option.value);
    });
    is_new = is_new || !(was_given || option.name == "--lang");
  }
  return is_new ? "qkv explain " + what + kept + added : "";
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
    const std::string command =
        command_of(filled(hint.arguments, {shell_quoted(printable(page.style.file)), another_row(document), head}),
                   page.style.given);
    if (!command.empty()) rows.push_back({command, std::string(hint.why)});
  }
  if (rows.empty()) return;
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
