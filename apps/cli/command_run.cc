// `qkv run`: attention of tensors in files.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/run_compute.h"
#include "qkv/version.h"
#include "src/check/compare.h"
#include "src/core/status_macros.h"
#include "src/io/atomic_file.h"

namespace qkv::cli {
namespace {

class RunCommand : public Command {
 public:
  CLI::App* add(CLI::App& tool) override { return add_run_options(tool, options_); }

  Result<int> run(Console& console) override {
    QKV_RETURN_IF_ERROR(check_run_options(options_));
    InterruptGuard guard;
    guard.end_at_once(true);
    QKV_ASSIGN_OR_RETURN(InputFiles files, InputFiles::open(options_.files));
    QKV_RETURN_IF_ERROR(check_output(files));
    std::vector<NamedUse> used;
    options_ = with_named_tensors(files, options_, used);
    note_used(used, console);  // before a tensor that does not fit is refused: the note says how to leave it out
    QKV_ASSIGN_OR_RETURN(const RunCase run, make_run_case(files, options_));
    Result<Computed> computed = compute(run, options_, console, guard);
    if (computed.code() == StatusCode::kCancelled || InterruptGuard::requested()) {
      console.err << "qkv run: interrupted; nothing was written\n";
      return kInterrupted;
    }
    if (!computed.is_ok()) return computed.status();
    console.out << summary(problem_of(run, options_), *computed) << '\n';
    QKV_RETURN_IF_ERROR(write(*computed, format(problem_of(run, options_)), console));
    return options_.compare.empty() ? Result<int>(kDone) : compare_o(*computed, run.want, console);
  }

 private:
  // Says which tensors were taken by their names, and how to leave them out.
  static void note_used(const std::vector<NamedUse>& used, Console& console) {
    if (used.empty()) return;
    std::string names, options;
    for (const NamedUse& use : used) {
      names += (names.empty() ? "" : ", ") + use.name;
      options += ' ' + use.option + " none";
    }
    console.err << "qkv run: uses " << names << " of the files, as they are named; without them:" << options << '\n';
  }

  // Whether the result can go where it should, before it is computed.
  Status check_output(const InputFiles& files) const {
    if (options_.output.empty()) {
      if (!options_.compare.empty()) return {};
      return invalid_argument("nothing to do with the result; give a file to write (-o out.npz) or --compare NAME");
    }
    QKV_ASSIGN_OR_RETURN(const FileFormat format, format_of_name(options_.output));
    if (format == FileFormat::kNpy && (options_.lse || options_.backward))
      return invalid_argument(options_.output + ": an .npy holds one tensor only; write o with the others to .npz");
    QKV_RETURN_IF_ERROR(files.refuse_as_output(options_.output));
    return check_writable(options_.output);
  }

  // Opens what write_tensor_file() will open, and leaves nothing behind. A device or pipe is not opened twice.
  static Status check_writable(const std::string& path) {
    std::error_code ignored;  // what cannot be looked up cannot be written, which create() says
    if (std::filesystem::is_other(path, ignored)) return {};
    const Status status = AtomicFile::create(path).status();
    return status.is_ok() ? status : Status(status.code(), "cannot write " + path + ": " + status.message());
  }

  Status write(const Computed& computed, const std::string& problem, Console& console) const {
    if (options_.output.empty()) return {};
    FileContents contents;
    contents.tensors = computed.tensors;
    QKV_ASSIGN_OR_RETURN(const FileFormat format, format_of_name(options_.output));
    if (format != FileFormat::kNpy)
      contents.metadata = {{"problem", problem}, {"made_by", std::string("qkv ") + QKV_VERSION}};
    QKV_RETURN_IF_ERROR(write_tensor_file(options_.output, format, contents));
    console.out << "wrote " << options_.output << ':';
    for (const NamedTensor& tensor : computed.tensors)
      console.out << ' ' << tensor.name << ' ' << to_string(tensor.values.shape) << ' '
                  << to_string(tensor.values.dtype) << (&tensor == &computed.tensors.back() ? "\n" : ",");
    return {};
  }

  Result<int> compare_o(const Computed& computed, View<const void> want, Console& console) const {
    check::Bound bound;
    bound.absolute = options_.tolerance.value_or(kTolerance);
    QKV_ASSIGN_OR_RETURN(const check::Comparison found, check::compare(computed.tensors.front().values, want, bound));
    console.out << "compared with " << options_.compare << ": ";
    if (!found.passed) {
      console.out << to_string(found) << '\n';
      return kWrong;
    }
    console.out << "the same, largest difference " << found.largest_error << " (allowed " << bound.absolute << ")\n";
    return kDone;
  }

  RunOptions options_;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace qkv::cli
