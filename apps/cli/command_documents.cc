// `qkv man` and `qkv completions`: documents that the tool makes of its own --help texts.
#include <CLI/CLI.hpp>
#include <string>

#include "apps/cli/command.h"
#include "apps/cli/completions.h"
#include "apps/cli/man_page.h"
#include "apps/cli/option_list.h"

namespace qkv::cli {
namespace {

class ManCommand : public Command {
 public:
  CLI::App* add(CLI::App& tool) override {
    tool_ = &tool;
    CLI::App* app = tool.add_subcommand("man", "Print the manual page (roff)");
    app->footer("Examples:\n  qkv man | man -l -\n  qkv man > ~/.local/share/man/man1/qkv.1");
    return app;
  }

  Result<int> run(Console& console) override {
    console.out << man_page(command_texts(*tool_));
    return kDone;
  }

 private:
  const CLI::App* tool_ = nullptr;
};

class CompletionsCommand : public Command {
 public:
  CLI::App* add(CLI::App& tool) override {
    tool_ = &tool;
    CLI::App* app = tool.add_subcommand("completions", "Print a completion script for a shell");
    app->add_option("shell", shell_, "The shell")->required()->type_name("bash|zsh|fish");
    app->footer(
        "Examples:\n"
        "  eval \"$(qkv completions bash)\"                 in ~/.bashrc\n"
        "  qkv completions zsh > ~/.zfunc/_qkv            a folder of $fpath\n"
        "  qkv completions fish > ~/.config/fish/completions/qkv.fish");
    return app;
  }

  Result<int> run(Console& console) override {
    const std::vector<CommandText> commands = command_texts(*tool_);
    if (shell_ == "bash")
      console.out << bash_completions(commands);
    else if (shell_ == "zsh")
      console.out << zsh_completions(commands);
    else if (shell_ == "fish")
      console.out << fish_completions(commands);
    else
      return invalid_argument("no completions for '" + shell_ + "'; expected bash, zsh or fish");
    return kDone;
  }

 private:
  const CLI::App* tool_ = nullptr;
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_man_command() { return std::make_unique<ManCommand>(); }

std::unique_ptr<Command> make_completions_command() { return std::make_unique<CompletionsCommand>(); }

}  // namespace qkv::cli
