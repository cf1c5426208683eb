// The commands and options of the tool as plain data, so that the manual page and the completions say what --help says.
#ifndef QKV_APPS_CLI_OPTION_LIST_H_
#define QKV_APPS_CLI_OPTION_LIST_H_

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace qkv::cli {

struct OptionText {
  std::vector<std::string> names;    // "--output" "-o"; a positional has one, without dashes: "what"
  std::string value;                 // "FILE", "bhtd|bthd"; empty for a plain flag
  bool value_is_optional = false;    // --causal[=CORNER]
  std::vector<std::string> choices;  // the words of `value`, if it lists them or there is a known list of them
  std::string description;
  bool positional = false;
  bool required = false;   // of a positional
  bool many = false;       // a positional that takes several words
  bool files_too = false;  // besides its choices it takes files
};

struct CommandText {
  std::string name;
  std::string description;
  std::string footer;  // "Examples:\n  qkv explain bank\n"
  std::vector<OptionText> options;
};

// The tool itself (first, with the name "qkv") and each of its commands.
std::vector<CommandText> command_texts(const CLI::App& tool);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_OPTION_LIST_H_
