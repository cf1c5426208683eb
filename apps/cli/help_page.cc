// Names to the left, what they mean to the right or, where that is too narrow, below.
#include "apps/cli/help_page.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "apps/cli/console.h"
#include "apps/cli/text.h"

namespace qkv::cli {
namespace {

constexpr int kNames = 28;      // columns of the names, with the two spaces before and after them
constexpr int kLeastText = 30;  // narrower, descriptions stand below their names
constexpr int kTextBelow = 6;   // indent of a description or a comment that stands below

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// "-o,--output FILE" as "-o, --output FILE"; "--causal[=CORNER]"; "WHAT" or "FILES...".
std::string names_of(const OptionText& option) {
  if (option.positional) return upper(option.names.front()) + (option.many ? "..." : "");
  std::string text;
  for (auto name = option.names.rbegin(); name != option.names.rend(); ++name)
    text += (text.empty() ? "" : ", ") + *name;
  if (option.value.empty()) return text;
  return text + (option.value_is_optional ? "[=" + option.value + "]" : " " + option.value);
}

void add_lines(std::string& page, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) page += line + '\n';
}

void add_entry(std::string& page, const std::string& names, const std::string& about, int width) {
  const std::string left = "  " + names;
  if (about.empty()) {
    page += left + '\n';
    return;
  }
  if (width - kNames < kLeastText || display_width(left) + 2 > kNames) {
    page += left + '\n';
    add_lines(page, wrapped(about, width, width - kNames < kLeastText ? kTextBelow : kNames));
    return;
  }
  std::vector<std::string> lines = wrapped(about, width, kNames);
  lines.front().replace(0, kNames, pad_right(left, kNames));
  add_lines(page, lines);
}

std::string usage(const CommandText& command, bool is_tool) {
  std::string text = "Usage: qkv ";
  if (is_tool) return text + "COMMAND [OPTIONS]\n";
  text += command.name + " [OPTIONS]";
  for (const OptionText& option : command.options)
    if (option.positional) text += option.required ? " " + names_of(option) : " [" + names_of(option) + "]";
  return text + '\n';
}

// "  qkv bench --list      the sets": the comment goes below where the line is too wide.
void add_example(std::string& page, const std::string& line, int width) {
  const std::size_t start = line.find_first_not_of(' ');
  const std::size_t gap = line.find("  ", start);
  if (display_width(line) <= width || gap == std::string::npos) {
    page += line + '\n';
    return;
  }
  page += line.substr(0, gap) + '\n';
  add_lines(page, wrapped(line.substr(line.find_first_not_of(' ', gap)), width, kTextBelow));
}

// Prose is filled up anew; lines that are indented, end in a colon or are empty stay lines.
void add_footer(std::string& page, const std::string& footer, int width) {
  std::istringstream lines(footer);
  std::string prose;
  const auto end_prose = [&] {
    add_lines(page, wrapped(prose, width, 0));
    prose.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.front() != ' ' && line.back() != ':') {
      prose += (prose.empty() ? "" : " ") + line;
      continue;
    }
    end_prose();
    add_example(page, line, width);
  }
  end_prose();
}

}  // namespace

std::string help_page(const std::vector<CommandText>& commands, std::size_t index, int width) {
  width = std::clamp(width, kNarrowest, kWidestText);
  const CommandText& command = commands[index];
  std::string page;
  add_lines(page, wrapped(command.description, width, 0));
  page += '\n' + usage(command, index == 0) + '\n';
  if (index == 0) {
    page += "Commands:\n";
    for (std::size_t i = 1; i < commands.size(); ++i) add_entry(page, commands[i].name, commands[i].description, width);
    page += '\n';
  }
  const auto is_positional = [](const OptionText& option) { return option.positional; };
  if (std::any_of(command.options.begin(), command.options.end(), is_positional)) {
    for (const OptionText& option : command.options)
      if (option.positional) add_entry(page, names_of(option), option.description, width);
    page += '\n';
  }
  page += "Options:\n";
  for (const OptionText& option : command.options)
    if (!option.positional) add_entry(page, names_of(option), option.description, width);
  if (!command.footer.empty()) page += '\n';
  add_footer(page, command.footer, width);
  return page;
}

}  // namespace qkv::cli
