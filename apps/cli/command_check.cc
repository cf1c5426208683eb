// `qkv check`: is this attention right, and if not, which mistake is it?
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/check_html.h"
#include "apps/cli/check_inputs.h"
#include "apps/cli/check_mistakes.h"
#include "apps/cli/check_page.h"
#include "apps/cli/check_repro.h"
#include "apps/cli/command.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/progress_bar.h"
#include "apps/cli/text.h"
#include "src/check/check.h"
#include "src/check/library/library_subject.h"
#include "src/check/report.h"
#include "src/core/did_you_mean.h"
#include "src/core/shortest.h"
#include "src/core/status_macros.h"

namespace qkv::cli {
namespace {

constexpr const char* kFooter =
    "LIBRARY:FUNCTION is a C function of qkv/check_abi.h in a shared library. It is asked small lopsided problems in "
    "a\n"
    "process of its own: a crash, a hang or a byte written out of bounds is a finding.\n"
    "It is attention unless --operation says decode (a step with a cache), layer (norm, projections, attention) or\n"
    "layernorm; the struct says which of its fields are used.\n"
    "The first line is the verdict: RIGHT, WRONG with the mistake that gives the same numbers, or CANNOT JUDGE.\n"
    "Files hold tensors by their names: q k v, keep bias key_mask slopes sinks key_lengths do dlse, and o lse dq dk "
    "dv\n"
    "dbias dsinks; an .npy is called as its file is. What no file can hold goes into --problem, as docs/semantics.md\n"
    "has it: \"attention causal=top_left window=2,0 softcap=30\".\n"
    "\n"
    "Examples:\n"
    "  qkv check ./libmine.so:my_attention\n"
    "  qkv check ./libmine.so:my_attention --gradient --quick\n"
    "  qkv check ./libmine.so:my_layer --operation layer\n"
    "  qkv check ./libmine.so:my_attention --problem \"attention T1x2 D1 causal=top_left\"\n"
    "  qkv check --given case.npz --got theirs.npz\n"
    "  qkv check --given q.npy k.npy v.npy --got o.npy --problem \"attention causal\"\n"
    "  qkv check --given case.npz --got theirs.npz --accept empty_row_nan\n"
    "  qkv check --mistakes                    every mistake that is known, by name\n"
    "\n"
    "Exit codes: 0 right, 1 wrong, 2 usage or bad input, 3 cannot judge.";

int exit_code(check::Verdict verdict) {
  switch (verdict) {
    case check::Verdict::kRight: return kDone;
    case check::Verdict::kWrong: return kWrong;
    default: return kCannotJudge;
  }
}

class CheckCommand : public Command {
 public:
  CLI::App* add(CLI::App& tool) override {
    CLI::App* app = tool.add_subcommand("check", "Say whether an attention is right, or which mistake it makes");
    app->add_option("implementation", implementation_, "A function in a shared library: ./libmine.so:my_attention")
        ->type_name("LIBRARY:FUNCTION");
    app->add_option("--given", given_, "Instead: files with the inputs (.safetensors .npz .npy)")
        ->type_name("FILE ...");
    app->add_option("--got", got_, "and files with what was computed from them")->type_name("FILE ...");
    app->add_option("--problem", problem_, "Ask this problem only; of given files: the options that they cannot hold")
        ->type_name("TEXT");
    app->add_option("--operation", operation_, "What the function computes (default attention)")
        ->type_name("attention|decode|layer|layernorm");
    app->add_flag("--gradient", gradient_, "Ask for dq, dk, dv, dbias, dsinks too");
    app->add_flag("--quick", quick_, "Each option alone, no pairs of options");
    app->add_option("--dtype", dtype_, "Element type of the probes (default f32)")->type_name("f64|f32|bf16|f16");
    app->add_option("--seed", seed_, "Other numbers in the probes (default 0)")->type_name("N");
    app->add_option(
           "--timeout", timeout_,
           "Seconds that one call may take (default 10); less once it hangs, never less than 20 times an answer")
        ->type_name("NUMBER");
    app->add_option("--alignment", alignment_, "Bytes that every tensor is aligned to (default: one element)")
        ->type_name("N");
    app->add_option("--accept", accepted_,
                    "Count these answers as right: empty_row_nan, corner_top_left, lse_base_2 ...")
        ->type_name("NAME ...");
    app->add_option("--repro", repro_, "Write the smallest case that fails, with what came and what is right")
        ->type_name("FILE");
    app->add_option("--html", html_, "Write the report as a page too, one file that a browser opens from the disk")
        ->type_name("FILE");
    app->add_flag("--mistakes", lists_, "List every mistake that is known, and those that --accept takes");
    app->add_flag("--json", json_, "Print the report as a document");
    app->footer(kFooter);
    return app;
  }

  Result<int> run(Console& console) override {
    if (lists_) {
      list_mistakes(console);
      return kDone;
    }
    check::CheckOptions options;
    QKV_ASSIGN_OR_RETURN(options.accepted, read_accepted(accepted_));
    const bool has_files = !given_.empty() || !got_.empty();
    if (has_files && !implementation_.empty())
      return invalid_argument("either a library or files: " + quote(implementation_) +
                              " and --given or --got were given");
    if (!has_files && implementation_.empty())
      return invalid_argument("nothing to check: give LIBRARY:FUNCTION, or --given FILE and --got FILE");
    std::optional<CheckHtml> html;
    if (!html_.empty()) {
      QKV_ASSIGN_OR_RETURN(CheckHtml created, CheckHtml::create(html_));
      html.emplace(std::move(created));
    }
    QKV_ASSIGN_OR_RETURN(const std::optional<check::CheckReport> report,
                         has_files ? check_files(options) : check_library(options, console));
    if (!report) return kInterrupted;
    if (html) {
      QKV_RETURN_IF_ERROR(html->write(*report));
      console.err << "qkv check: wrote " << html_ << '\n';
    }
    if (report->answered + report->unanswered == 0 && operation_.empty() && only_attention(*report))
      console.err << "qkv check: if it computes something else, say so: --operation decode, layer or layernorm\n";
    return show(*report, console);
  }

 private:
  static bool only_attention(const check::CheckReport& report) {
    return std::ranges::all_of(report.evidence, [](const check::Evidence& one) {
      return one.asked.problem.operation == Operation::kAttention;
    });
  }

  // Without a value: it was interrupted.
  using Checked = Result<std::optional<check::CheckReport>>;

  Checked check_files(const check::CheckOptions& options) const {
    QKV_RETURN_IF_ERROR(refuse_without_library());
    if (given_.empty()) return invalid_argument("--got has no effect without --given, the inputs");
    if (got_.empty()) return invalid_argument("--given has no effect without --got, the results");
    QKV_ASSIGN_OR_RETURN(GivenCase read, read_given_case(given_, got_, problem_));
    QKV_ASSIGN_OR_RETURN(check::CheckReport report,
                         check::check_given(std::move(read.asked), std::move(read.got), got_.front(), options));
    return std::optional(std::move(report));
  }

  // What only a library can be asked.
  Status refuse_without_library() const {
    const std::pair<const char*, bool> asked[] = {{"--gradient", gradient_},
                                                  {"--quick", quick_},
                                                  {"--operation", !operation_.empty()},
                                                  {"--dtype", !dtype_.empty()},
                                                  {"--seed", seed_.has_value()},
                                                  {"--timeout", timeout_.has_value()},
                                                  {"--alignment", alignment_.has_value()},
                                                  {"--repro", !repro_.empty()}};
    for (const auto& [flag, given] : asked)
      if (given)
        return invalid_argument(std::string(flag) +
                                " has no effect on files: they hold one case, which is asked already");
    return {};
  }

  // What a problem's line says itself.
  Status refuse_beside_problem() const {
    const std::pair<const char*, bool> asked[] = {
        {"--gradient has no effect beside --problem: write backward into it", gradient_},
        {"--operation has no effect beside --problem: it is the first word of it", !operation_.empty()},
        {"--quick has no effect beside --problem, which is asked alone", quick_},
        {"--dtype has no effect beside --problem: write the type into it", !dtype_.empty()},
        {"--seed has no effect beside --problem: write seed=N into it", seed_.has_value()}};
    for (const auto& [words, given] : asked)
      if (given) return invalid_argument(words);
    return {};
  }

  Checked check_library(check::CheckOptions& options, Console& console) const {
    QKV_RETURN_IF_ERROR(read_probe_options(options.probes));
    QKV_ASSIGN_OR_RETURN(check::LibraryOptions library, library_options());
    const std::size_t colon = implementation_.rfind(':');
    const std::string path = implementation_.substr(0, colon);
    const std::string function = colon == std::string::npos ? "" : implementation_.substr(colon + 1);
    if (path.empty())
      return invalid_argument(quote(implementation_) +
                              " is not LIBRARY:FUNCTION; for example ./libmine.so:my_attention");
    std::optional<Problem> only;
    if (!problem_.empty()) {
      QKV_RETURN_IF_ERROR(refuse_beside_problem());
      QKV_ASSIGN_OR_RETURN(only, parse_any_problem(problem_));
      options.probes.operation = only->operation;
      options.probes.dtype = only->dtype;
      options.probes.backward = only->backward;
      options.probes.seed = only->seed;
    }
    InterruptGuard guard;
    ProgressBar bar(console);
    options.progress = [&](std::int64_t done, std::int64_t total) {
      bar.show(done, total);
      return !InterruptGuard::requested();
    };
    options.keep_going = [] { return !InterruptGuard::requested(); };
    library.keep_going = [] { return !InterruptGuard::requested(); };
    QKV_ASSIGN_OR_RETURN(const std::unique_ptr<check::Subject> subject, check::open_library(path, function, library));
    Result<check::CheckReport> report =
        only ? check::check_problem(*subject, *only, options) : check::check(*subject, options);
    bar.clear();
    if (report.code() == StatusCode::kCancelled) {
      console.err << "qkv check: interrupted\n";
      return std::optional<check::CheckReport>();
    }
    if (!report.is_ok()) return report.status();
    report->replay = replay_of(*report);
    if (!repro_.empty()) QKV_RETURN_IF_ERROR(write_repro(*subject, *report, repro_, accept_flags(), console));
    return std::optional(std::move(report).value());
  }

  // The command that asks the smallest problem again under the same terms.
  std::string replay_of(const check::CheckReport& report) const {
    if (!report.shrunk) return "";
    return "qkv check " + shell_word(implementation_) + " --problem \"" + format(*report.shrunk) + "\"" +
           replay_flags();
  }

  Status read_operation(check::ProbeOptions& probes) const {
    constexpr Operation kAll[] = {Operation::kAttention, Operation::kDecode, Operation::kLayer, Operation::kLayerNorm};
    const auto* const found =
        std::ranges::find_if(kAll, [&](Operation one) { return operation_.empty() || operation_ == to_string(one); });
    if (found == std::end(kAll))
      return invalid_argument("--operation " + quote(operation_) +
                              " is unknown; expected attention, decode, layer or layernorm");
    probes.operation = *found;
    if (gradient_ && probes.operation == Operation::kDecode)
      return invalid_argument("--gradient: a decode step has none; check --operation attention with it");
    return {};
  }

  Status read_probe_options(check::ProbeOptions& probes) const {
    QKV_RETURN_IF_ERROR(read_operation(probes));
    probes.backward = gradient_;
    probes.quick = quick_;
    if (seed_ && *seed_ < 0) return invalid_argument("--seed takes a whole number from 0");
    probes.seed = static_cast<std::uint64_t>(seed_.value_or(0));
    if (dtype_.empty()) return {};
    const Result<DType> dtype = parse_dtype(dtype_);
    if (!dtype.is_ok() || !is_floating(*dtype))
      return invalid_argument("--dtype " + quote(dtype_) + " is unknown; expected f64, f32, bf16 or f16");
    probes.dtype = *dtype;
    return {};
  }

  Result<check::LibraryOptions> library_options() const {
    check::LibraryOptions library;
    constexpr double kLongest = 3600;
    const bool is_usable = !timeout_ || (*timeout_ > 0 && *timeout_ <= kLongest);
    if (!is_usable) return invalid_argument("--timeout takes seconds above 0 and up to 3600");
    if (timeout_)
      library.time_limit = std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(*timeout_ * 1000)));
    library.alignment = alignment_.value_or(library.alignment);
    return library;
  }

  // What changed the verdict and is not in a problem's line.
  std::string replay_flags() const {
    std::string flags = accept_flags();
    if (alignment_) flags += " --alignment " + std::to_string(*alignment_);
    if (timeout_) flags += " --timeout " + shortest(*timeout_);
    return flags;
  }
  std::string accept_flags() const {
    std::string flags = accepted_.empty() ? "" : " --accept";
    for (const std::string& name : accepted_) flags += " " + name;
    return flags;
  }

  int show(const check::CheckReport& report, Console& console) const {
    const std::string said = problem_.empty() ? "attention" : problem_;
    const CheckPageStyle style{std::max(console.width, kNarrowest), {console.color}, given_.empty() ? "" : said};
    console.out << (json_ ? to_json(report) : check_page(report, style));
    return exit_code(report.verdict);
  }

  std::vector<std::string> given_, got_, accepted_;
  std::string implementation_, operation_, problem_, dtype_, repro_, html_;
  std::optional<std::int64_t> seed_;
  std::optional<double> timeout_;
  std::optional<std::size_t> alignment_;
  bool gradient_ = false, quick_ = false, json_ = false, lists_ = false;
};

}  // namespace

std::unique_ptr<Command> make_check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace qkv::cli
