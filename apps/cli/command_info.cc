// `qkv info`: what a bug report should say about the build and the machine.
#include <CLI/CLI.hpp>
#include <string>

#include "apps/cli/command.h"
#include "apps/cli/machine_info.h"
#include "qkv/target.h"
#include "qkv/version.h"
#include "src/core/parallel.h"
#include "src/core/status_macros.h"

namespace qkv::cli {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#elif defined(__GNUC__)
constexpr const char* kCompiler = "g++ " __VERSION__;
#else
constexpr const char* kCompiler = "unknown";
#endif

std::string size_text(std::int64_t bytes) {
  if (bytes % (1 << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(bytes >> 10) + " KiB";
}

std::string caches_text() {
  std::string text;
  for (const CacheInfo& cache : cache_sizes()) {
    if (cache.type == "Instruction") continue;
    text += (text.empty() ? "L" : ", L") + std::to_string(cache.level) + " " + size_text(cache.bytes);
  }
  return text.empty() ? "unknown" : text;
}

std::string targets_text() {
  std::string text;
  for (Target target : available_targets()) text += (text.empty() ? "" : " ") + std::string(to_string(target));
  return text;
}

class InfoCommand : public Command {
 public:
  CLI::App* add(CLI::App& tool) override {
    CLI::App* app = tool.add_subcommand("info", "Show the version, the SIMD targets, threads and caches");
    app->footer(
        "Examples:\n  qkv info\n  QKV_TARGET=portable qkv info     force a target, here and in every command"
        "\n  QKV_THREADS=1 qkv info           threads where no --threads says how many, here and in every command");
    return app;
  }

  Result<int> run(Console& console) override {
    const Result<Target> used = resolve_target(Target::kAuto);
    if (!used.is_ok()) return used.status();
    QKV_ASSIGN_OR_RETURN(const int threads, resolve_threads("info", 0));
    console.out << "version    " << QKV_VERSION << "\ncompiler   " << kCompiler << "\nprocessor  " << processor_name()
                << "\ntargets    " << targets_text() << "\nin use     " << to_string(*used) << "\nthreads    "
                << threads << "\ncaches     " << caches_text() << '\n';
    return kDone;
  }
};

}  // namespace

std::unique_ptr<Command> make_info_command() { return std::make_unique<InfoCommand>(); }

}  // namespace qkv::cli
