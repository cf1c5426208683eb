// `qkv explain`: every number between the input and the output of a small problem.
#include <CLI/CLI.hpp>
#include <string>

#include "apps/cli/command.h"
#include "qkv/explain.h"

namespace qkv::cli {
namespace {

class ExplainCommand : public Command {
 public:
  CLI::App* add(CLI::App& tool) override {
    CLI::App* app = tool.add_subcommand("explain", "Show every number between the input and the output");
    app->add_option("what", what_, "bank, running, backward, or a .json, .npz or .safetensors file")->required();
    app->footer("Examples:\n  qkv explain bank");
    return app;
  }

  Result<int> run(Console& console) override {
    Result<std::string> document = explain("{\"example\": \"" + what_ + "\"}");
    if (!document.is_ok()) return document.status();
    console.out << *document << '\n';
    return kDone;
  }

 private:
  std::string what_;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace qkv::cli
