// Reads the commands and options back out of CLI11.
#include "apps/cli/option_list.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "bench/pass.h"
#include "bench/problem_sets.h"
#include "src/explain/examples.h"

namespace qkv::cli {
namespace {

// "bhtd|bthd" lists its values; "FILE" and "NAME|3,5" do not.
std::vector<std::string> choices_of(const std::string& value) {
  if (value.find('|') == std::string::npos) return {};
  std::vector<std::string> choices = CLI::detail::split(value, '|');
  for (const std::string& choice : choices)
    for (char c : choice)
      if (std::islower(static_cast<unsigned char>(c)) == 0 && std::isdigit(static_cast<unsigned char>(c)) == 0 &&
          c != '_')
        return {};
  return choices;
}

// Words that an option takes by name without listing them in its value, which would be long.
std::vector<std::string> known_words(const std::string& command, const std::string& option) {
  std::vector<std::string> words;
  if (command == "explain" && option == "what")
    for (const Example& example : examples()) words.emplace_back(example.name);
  if (command == "bench" && option == "--set")
    for (const bench::ProblemSet& set : bench::problem_sets()) words.emplace_back(set.name);
  if (command == "bench" && option == "--pass")
    for (const bench::Pass pass : bench::all_passes()) words.emplace_back(to_string(pass));
  return words;
}

OptionText option_text(const std::string& command, const CLI::Option& option) {
  OptionText text;
  text.positional = option.get_positional();
  text.required = option.get_required();
  text.many = text.positional && option.get_items_expected_max() > 1;
  if (text.positional) {
    text.names.push_back(option.get_name(true, false));
  } else {
    for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
    for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  }
  text.description = option.get_description();
  text.value = option.get_type_name();
  // A flag may take a value after "=", written "[=CORNER]"; CLI11 calls the type of any other flag BOOLEAN or nothing.
  text.value_is_optional = text.value.starts_with("[=");
  if (text.value_is_optional)
    text.value = text.value.substr(2, text.value.size() - 3);
  else if (option.get_items_expected_max() == 0)
    text.value.clear();
  text.choices = choices_of(text.value);
  if (text.choices.empty()) {
    text.choices = known_words(command, text.names.front());
    text.files_too = text.positional && !text.choices.empty();
  }
  return text;
}

CommandText command_text(const CLI::App& app) {
  CommandText text{app.get_name(), app.get_description(), app.get_footer(), {}};
  for (const CLI::Option* option : app.get_options()) text.options.push_back(option_text(text.name, *option));
  return text;
}

}  // namespace

std::vector<CommandText> command_texts(const CLI::App& tool) {
  std::vector<CommandText> texts{command_text(tool)};
  for (const CLI::App* command : tool.get_subcommands([](const CLI::App*) { return true; }))
    texts.push_back(command_text(*command));
  return texts;
}

}  // namespace qkv::cli
