// `qkv explore`: the lesson as a page in the browser, served from this program.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/cli/browser.h"
#include "apps/cli/command.h"
#include "apps/cli/explain_request.h"
#include "apps/cli/interrupt.h"
#include "apps/server/embedded_page.h"
#include "apps/server/server.h"
#include "qkv/explain.h"
#include "src/core/status_macros.h"

namespace qkv::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  qkv explore --open                           the lesson, in the browser\n"
    "  qkv explore examples/minilm.safetensors      with a file of your own in its last part\n"
    "  qkv explore --port 0                         on any port that is free\n"
    "\n"
    "The page is inside this program and is served on 127.0.0.1 only, to this machine. Ctrl-C ends it.\n"
    "FILE holds what qkv explain takes. docs/explorer.md tells what is served, and the limits.";

constexpr std::chrono::seconds kPatience{2};  // for a computation that was under way at Ctrl-C

class ExploreCommand : public Command {
 public:
  CLI::App* add(CLI::App& tool) override {
    CLI::App* app = tool.add_subcommand("explore", "Serve the lesson as a page for the browser");
    app->add_option("file", file_, "a .json, .npz or .safetensors file to look into")->type_name("FILE");
    app->add_option("--port", port_, "port of 127.0.0.1, 0 for any that is free; 8758 unless given")->type_name("N");
    app->add_flag("--open", open_, "open the page in the browser");
    app->footer(kFooter);
    return app;
  }

  Result<int> run(Console& console) override {
    if (port_ < 0 || port_ > 65535)
      return invalid_argument("--port is " + std::to_string(port_) + "; expected 0 to 65535");
    QKV_ASSIGN_OR_RETURN(std::string opened, opened_file());
    if (server::embedded_page().empty())
      return unsupported(
          "this qkv was built without the page\nBuild it with -DQKV_EMBED_PAGE=ON, which needs nodejs and npm; "
          "make build does");
    QKV_ASSIGN_OR_RETURN(const std::unique_ptr<server::Server> server,
                         server::Server::listen(server::Site(server::embedded_page(), std::move(opened)),
                                                static_cast<std::uint16_t>(port_)));
    return serve(*server, console);
  }

 private:
  // What GET /api/opened says. The file is explained once, so that a mistake in it is told here and not in the browser.
  Result<std::string> opened_file() const {
    if (file_.empty()) return std::string("null");
    ExplainOptions options;
    options.what = file_;
    QKV_ASSIGN_OR_RETURN(const std::string request, explain_request(options));
    QKV_RETURN_IF_ERROR(explain(request).status());
    const std::uint64_t most = server::Limits().body_bytes;
    if (request.size() > most)
      return unsupported(file_ + " makes a request of " + std::to_string(request.size() >> 20U) +
                         " MiB; the page may send at most " + std::to_string(most >> 20U) +
                         " MiB. Cut it to fewer tokens, heads or batch entries");
    const std::string name = std::filesystem::path(file_).filename().string();
    using Json = nlohmann::json;
    return "{\"name\":" + Json(name).dump(-1, ' ', false, Json::error_handler_t::replace) + ",\"request\":" + request +
           "}";
  }

  Result<int> serve(server::Server& server, Console& console) const {
    const InterruptGuard guard;
    const std::string address = "http://127.0.0.1:" + std::to_string(server.port()) + "/";
    console.out << "The explorer is at " << address << " (Ctrl-C ends it)" << std::endl;
    Browser browser;
    if (open_) browser.open(address);
    server.run([&] {
      if (const std::string trouble = browser.trouble(); !trouble.empty())
        console.err << "qkv explore: " << trouble << "; open " << address << " yourself\n";
      return InterruptGuard::requested();
    });
    if (!server.is_idle_within(kPatience)) std::_Exit(kDone);  // it has nothing to lose
    return kDone;
  }

  std::string file_;
  int port_ = server::kDefaultPort;
  bool open_ = false;
};

}  // namespace

std::unique_ptr<Command> make_explore_command() { return std::make_unique<ExploreCommand>(); }

}  // namespace qkv::cli
