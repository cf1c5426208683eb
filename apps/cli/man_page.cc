// roff: a line that starts with a dot is a request, a backslash escapes.
#include "apps/cli/man_page.h"

#include <sstream>

#include "qkv/version.h"

namespace qkv::cli {
namespace {

// Text that roff shows as it is: hyphens stay ASCII (so that a copied option works), a leading dot is no request.
std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
      out += c;
    }
  }
  return out;
}

// "-o, --output FILE", "--causal[=CORNER]"
std::string heading(const OptionText& option) {
  std::string text;
  for (const std::string& name : option.names) text += (text.empty() ? "" : ", ") + ("\\fB" + escaped(name) + "\\fR");
  if (option.value.empty() || option.positional) return text;
  const std::string value = "\\fI" + escaped(option.value) + "\\fR";
  return text + (option.value_is_optional ? "[=" + value + "]" : " " + value);
}

void write_options(std::ostream& out, const CommandText& command) {
  for (const OptionText& option : command.options)
    out << ".TP\n" << heading(option) << '\n' << escaped(option.description) << '\n';
}

// Footers are laid out by hand, so they are shown unfilled.
void write_verbatim(std::ostream& out, const std::string& text) {
  if (!text.empty()) out << ".PP\n.nf\n" << escaped(text) << "\n.fi\n";
}

}  // namespace

std::string man_page(const std::vector<CommandText>& commands) {
  const CommandText& tool = commands.front();
  std::ostringstream out;
  out << ".TH QKV 1 \"\" \"qkv " << QKV_VERSION << "\" \"User Commands\"\n"
      << ".SH NAME\nqkv \\- " << escaped(tool.description) << '\n'
      << ".SH SYNOPSIS\n.B qkv\n\\fICOMMAND\\fR [\\fIOPTION\\fR]...\n"
      << ".SH OPTIONS\n";
  write_options(out, tool);
  write_verbatim(out, tool.footer);
  out << ".SH COMMANDS\n";
  for (std::size_t i = 1; i < commands.size(); ++i) {
    out << ".SS qkv " << escaped(commands[i].name) << '\n' << escaped(commands[i].description) << '\n';
    write_options(out, commands[i]);
    write_verbatim(out, commands[i].footer);
  }
  return out.str();
}

}  // namespace qkv::cli
