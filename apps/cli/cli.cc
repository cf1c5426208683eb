// Dispatch of the subcommands, and the one place where errors are printed.
#include "apps/cli/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <new>

#include "apps/cli/help_page.h"
#include "qkv/version.h"
#include "src/core/did_you_mean.h"

namespace qkv::cli {
namespace {

constexpr const char* kDescription = "Attention, done properly: compute it, and see every number on the way.";
constexpr const char* kFooter =
    "Examples:\n"
    "  qkv explain bank                 three tokens, by hand\n"
    "  qkv explain running --head 0     a whole layer, row by row\n"
    "  qkv explore --open               the same as a page in the browser, alive\n"
    "  qkv COMMAND --help               the options of a command, with examples\n"
    "\n"
    "Exit codes: 0 done or right, 1 wrong, 2 usage or bad input, 3 cannot judge.";

// The library's messages name the operation ("explain: k has ..."), which is often the command: say it once.
int fail(Console& console, const std::string& command, std::string message) {
  if (!command.empty() && message.rfind(command + ": ", 0) == 0) message.erase(0, command.size() + 2);
  console.err << "qkv" << (command.empty() ? "" : " " + command) << ": " << message << '\n';
  return kBadInput;
}

// The first argument that looks like an option and is none of `app`'s, or at the tool's own level the first that is no
// command; "" if every one is known. CLI11 would first complain about what is missing.
std::string unknown_argument(const CLI::App& app, const std::vector<std::string>& arguments, bool is_tool,
                             std::vector<std::string>& known) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  if (is_tool)
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(command->get_name());
  for (const std::string& argument : arguments) {
    std::string name = argument.substr(0, argument.find('='));
    if (name.rfind("--", 0) != 0 && !is_tool) continue;
    if (name == "--") return "";
    if (std::find(known.begin(), known.end(), name) == known.end()) return name;
    if (is_tool) return "";
  }
  return "";
}

// What an option takes, for a message: "numbers" for NUMBERS, and CORNER of "[=CORNER]".
std::string expected_by(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.starts_with("[=")) return "; expected " + type.substr(2, type.size() - 3);
  if (option.get_items_expected_max() == 0) return "; it takes no value";
  return "; expected " + (type == "N" ? std::string("a whole number") : type == "NUMBER" ? "a number" : type);
}

// "what" of `qkv explain` as "WHAT is missing: bank, running, ..."; "" if nothing that is required is missing.
std::string missing_argument(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    if (!option->get_positional()) return option->get_name() + " is missing: " + option->get_description();
    std::string name = option->get_name(true, false);
    for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const std::string type = option->get_type_name();
    return name + " is missing: " + (type.find('|') != std::string::npos ? type : option->get_description());
  }
  return "";
}

// A parse error in words of our own, where CLI11's show its insides: "Could not convert: --threads = x",
// "--row: 1 required ROW missing", "The following argument was not expected: x".
std::string in_plain_words(const CLI::App& app, const CLI::ParseError& error) {
  const std::string kind = error.get_name();
  std::string text = error.what();  // not const: it is returned
  const std::size_t colon = text.find(": ");
  const std::string before = text.substr(0, colon), after = colon == std::string::npos ? "" : text.substr(colon + 2);
  if (kind == "RequiredError") return missing_argument(app);
  if (text.starts_with("The following argument")) return "there is no use for " + quote(after);
  if (kind == "ConversionError") {
    const std::size_t equals = after.find(" = ");
    const CLI::Option* option = app.get_option_no_throw(equals == std::string::npos ? before : after.substr(0, equals));
    if (option == nullptr) return text;
    const std::string value = equals == std::string::npos ? "" : " '" + after.substr(equals + 3) + "'";
    std::string expected = expected_by(*option);
    if (!value.empty()) expected.front() = ':';
    return option->get_name() + value + expected;
  }
  if (kind == "ArgumentMismatch")
    if (const CLI::Option* option = app.get_option_no_throw(before); option != nullptr)
      return option->get_name() + " has no value" + expected_by(*option);
  return text;
}

// What is wrong with the arguments, on one line, and where to look next.
int fail_parse(Console& console, const CLI::App& app, const std::string& command,
               const std::vector<std::string>& arguments, const CLI::ParseError& error) {
  std::string message = in_plain_words(app, error);
  for (char& c : message)
    if (c == '\n') c = ' ';
  std::vector<std::string> known;
  if (const std::string name = unknown_argument(app, arguments, command.empty(), known); !name.empty()) {
    const char* kind = name.rfind("--", 0) == 0 ? "option " : "command ";
    message = "there is no " + std::string(kind) + quote(name) + did_you_mean(name, known);
  }
  return fail(console, command, message + "\nTry: qkv " + (command.empty() ? "" : command + " ") + "--help");
}

// The first "--option=" that nothing follows, without its "="; "" if there is none. CLI11 would take the next argument.
std::string option_without_value(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument.size() > 3 && argument.rfind("--", 0) == 0 && argument.find('=') == argument.size() - 1)
      return argument.substr(0, argument.size() - 1);
  }
  return "";
}

// Refuses --lengths '', which CLI11 takes for an option that was not given, or for 0.
Status refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() || option->count() == 0) continue;
    const std::vector<std::string> values = option->results();
    if (std::find(values.begin(), values.end(), "") != values.end())
      return invalid_argument(option->get_name() + " is empty" + expected_by(*option));
  }
  return {};
}

// The subcommand that was named, null if none was.
Command* chosen(const std::vector<std::unique_ptr<Command>>& commands, const std::vector<CLI::App*>& added,
                std::string& name) {
  for (std::size_t i = 0; i < added.size(); ++i)
    if (added[i]->parsed()) {
      name = added[i]->get_name();
      return commands[i].get();
    }
  return nullptr;
}

void print_help(const CLI::App& tool, const std::string& command, Console& console) {
  const std::vector<CommandText> texts = command_texts(tool);
  std::size_t index = 0;
  for (std::size_t i = 1; i < texts.size(); ++i)
    if (texts[i].name == command) index = i;
  console.out << help_page(texts, index, console.width);
}

int run_parsed(Command* command, const std::string& name, CLI::App& tool, Console& console) {
  if (command == nullptr) {
    print_help(tool, name, console);
    return kDone;
  }
  if (name != "explain") {  // which refuses them in words of its own
    if (const Status status = refuse_empty_values(*tool.get_subcommand(name)); !status.is_ok())
      return fail(console, name, status.message());
  }
  Result<int> result = command->run(console);
  return result.is_ok() ? *result : fail(console, name, result.status().message());
}

}  // namespace

std::vector<std::unique_ptr<Command>> all_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_explain_command());
  commands.push_back(make_explore_command());
  commands.push_back(make_run_command());
  commands.push_back(make_check_command());
  commands.push_back(make_survey_command());
  commands.push_back(make_map_command());
  commands.push_back(make_shapes_command());
  commands.push_back(make_bench_command());
  commands.push_back(make_info_command());
  commands.push_back(make_man_command());
  commands.push_back(make_completions_command());
  return commands;
}

std::vector<CLI::App*> add_commands(CLI::App& tool, const std::vector<std::unique_ptr<Command>>& commands) {
  tool.set_version_flag("--version", std::string("qkv ") + QKV_VERSION);
  tool.require_subcommand(0, 1);
  tool.footer(kFooter);
  std::vector<CLI::App*> added;
  added.reserve(commands.size());
  for (const std::unique_ptr<Command>& command : commands) added.push_back(command->add(tool));
  return added;
}

int run(const std::vector<std::string>& arguments, Console& console) {
  CLI::App tool(kDescription, "qkv");
  const std::vector<std::unique_ptr<Command>> commands = all_commands();
  const std::vector<CLI::App*> added = add_commands(tool, commands);
  std::string name;
  try {
    tool.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
    Command* command = chosen(commands, added, name);
    if (const std::string empty = option_without_value(arguments); !empty.empty())
      return fail(console, name, empty + " is empty; give a value after the =, or leave both out");
    return run_parsed(command, name, tool, console);
  } catch (const CLI::CallForVersion& version) {
    console.out << version.what() << '\n';
    return kDone;
  } catch (const CLI::Success&) {  // --help, of the tool or of a command
    chosen(commands, added, name);
    print_help(tool, name, console);
    return kDone;
  } catch (const CLI::ParseError& error) {
    chosen(commands, added, name);
    return fail_parse(console, name.empty() ? tool : *tool.get_subcommand(name), name, arguments, error);
  } catch (const std::bad_alloc&) {
    return fail(console, name, "out of memory; try a smaller problem");
  }
}

}  // namespace qkv::cli
