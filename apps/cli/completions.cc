// One script a shell; each completes commands, options, the values that are listed, and file names elsewhere.
#include "apps/cli/completions.h"

#include <sstream>

namespace qkv::cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> command_names(const std::vector<CommandText>& commands) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < commands.size(); ++i) names.push_back(commands[i].name);
  return names;
}

std::vector<std::string> option_names(const CommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& option : command.options)
    if (!option.positional) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

// The words that a command's positional lists, as `bash|zsh|fish`.
std::vector<std::string> positional_choices(const CommandText& command) {
  for (const OptionText& option : command.options)
    if (option.positional && !option.choices.empty()) return option.choices;
  return {};
}

// Inside single quotes; zsh's _arguments also gives brackets and colons a meaning.
std::string quoted(const std::string& text, const std::string& special = "") {
  std::string out;
  for (char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (special.find(c) != std::string::npos)
      out += std::string("\\") + c;
    else
      out += c == '\n' ? ' ' : c;
  }
  return out;
}

void bash_command(std::ostream& out, const CommandText& command) {
  out << "    " << command.name << ")\n      case $previous in\n";
  for (const OptionText& option : command.options) {
    if (option.positional || option.choices.empty()) continue;
    std::string pattern;
    for (const std::string& name : option.names) pattern += (pattern.empty() ? "" : "|") + name;
    out << "        " << pattern << ") words='" << joined(option.choices) << "'; only=yes ;;\n";
  }
  std::vector<std::string> words = option_names(command);
  const std::vector<std::string> values = positional_choices(command);
  words.insert(words.end(), values.begin(), values.end());
  out << "        *) words='" << joined(words) << "' ;;\n      esac ;;\n";
}

void zsh_option(std::ostream& out, const OptionText& option) {
  std::string action = "_files";
  if (!option.choices.empty()) action.assign("(").append(joined(option.choices)).append(")");
  if (option.positional) {
    if (option.files_too) action = "{_alternative \"words:word:" + action + "\" \"files:file:_files\"}";
    out << " \\\n        '*:" << quoted(option.names.front(), ":") << ":" << action << "'";
    return;
  }
  for (const std::string& name : option.names) {
    out << " \\\n        '" << name << (option.value_is_optional && !option.value.empty() ? "=-" : "") << "["
        << quoted(option.description, "[]:") << "]";
    if (!option.value.empty()) out << (option.value_is_optional ? "::" : ":") << "value:" << action;
    out << "'";
  }
}

}  // namespace

std::string bash_completions(const std::vector<CommandText>& commands) {
  std::ostringstream out;
  out << "# bash: eval \"$(qkv completions bash)\"\n"
      << "_qkv() {\n  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words='' only=''\n"
      << "  if [[ $COMP_CWORD -eq 1 ]]; then\n    words='" << joined(command_names(commands)) << " "
      << joined(option_names(commands.front())) << "'; only=yes\n  fi\n  case ${COMP_WORDS[1]} in\n";
  for (std::size_t i = 1; i < commands.size(); ++i) bash_command(out, commands[i]);
  out << "  esac\n  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
      << "  if [[ -z $only && $word != -* ]]; then\n"
      << "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$word\")\n  fi\n}\n"
      << "complete -o filenames -F _qkv qkv\n";
  return out.str();
}

std::string zsh_completions(const std::vector<CommandText>& commands) {
  std::ostringstream out;
  out << "#compdef qkv\n# zsh: qkv completions zsh > a folder of $fpath/_qkv\n_qkv() {\n"
      << "  local -a commands=(";
  for (std::size_t i = 1; i < commands.size(); ++i)
    out << "\n    '" << commands[i].name << ":" << quoted(commands[i].description, ":") << "'";
  out << "\n  )\n  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
      << "  local command=$words[2]\n  shift words; (( CURRENT-- ))\n  case $command in\n";
  for (std::size_t i = 1; i < commands.size(); ++i) {
    out << "    " << commands[i].name << ")\n      _arguments";
    for (const OptionText& option : commands[i].options) zsh_option(out, option);
    out << " ;;\n";
  }
  out << "  esac\n}\nif [ \"$funcstack[1]\" = _qkv ]; then _qkv; else compdef _qkv qkv; fi\n";
  return out.str();
}

std::string fish_completions(const std::vector<CommandText>& commands) {
  std::ostringstream out;
  out << "# fish: qkv completions fish | source\n";
  for (std::size_t i = 1; i < commands.size(); ++i)
    out << "complete -c qkv -n __fish_use_subcommand -f -a " << commands[i].name << " -d '"
        << quoted(commands[i].description) << "'\n";
  for (std::size_t i = 1; i < commands.size(); ++i) {
    const std::string when = "complete -c qkv -n '__fish_seen_subcommand_from " + commands[i].name + "'";
    for (const OptionText& option : commands[i].options) {
      const std::string only = option.files_too ? "" : " -f";
      const std::string choices = option.choices.empty() ? "" : only + " -a '" + joined(option.choices) + "'";
      if (option.positional && choices.empty()) continue;
      out << when;
      if (!option.positional)
        for (const std::string& name : option.names)
          out << (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1));
      if (!option.positional && !option.value.empty() && !option.value_is_optional) out << " -r";
      out << choices << " -d '" << quoted(option.description) << "'\n";
    }
  }
  return out.str();
}

}  // namespace qkv::cli
