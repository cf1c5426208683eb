// `qkv survey`: what every head of a model looks like.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

#include "apps/cli/command.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/progress_bar.h"
#include "apps/cli/survey_report.h"
#include "apps/cli/survey_rows.h"
#include "apps/cli/survey_select.h"
#include "apps/cli/text.h"
#include "src/core/status_macros.h"

namespace qkv::cli {
namespace {

constexpr const char* kFooter =
    "FILE is a capture (qkv.capture in Python, or qkv-capture), or holds plain tensors q and k [B,H,T,D]; for those "
    "the\n"
    "options of `qkv run` say what the mask is. LIST is numbers and ranges: 0,3-5. CONDITION compares a column with a\n"
    "number (> >= < <= =), or asks for a pattern: content, previous, next, distance, mix, even, first.\n"
    "Nothing of size n² is made, at any length. Exit code 1 if o cannot be recomputed as it was captured.\n"
    "\n"
    "Examples:\n"
    "  qkv survey capture.safetensors                        every head, in the order of the layers\n"
    "  qkv survey capture.safetensors --sort previous --top 5\n"
    "  qkv survey capture.safetensors --where 'first_key<0.3' --where pattern=previous\n"
    "  qkv survey capture.safetensors --layer 3 --head 5      all about one head\n"
    "  qkv survey examples/minilm.safetensors --csv > heads.csv";

// Words of "a,b" in several options, one after the other.
std::vector<std::string> split_words(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts)
    for (const std::string& word : CLI::detail::split(text, ',')) out.push_back(word);
  return out;
}

class SurveyCommand : public Command {
 public:
  CLI::App* add(CLI::App& tool) override {
    CLI::App* app = tool.add_subcommand("survey", "Show what every head of a captured model looks like");
    SurveyOptions& o = options_;
    app->add_option("files", o.tensors.files, "A capture, or files that hold tensors (.safetensors .npz .npy)")
        ->required();
    app->add_option("--layer", o.layers, "Of these layers only")->type_name("LIST");
    app->add_option("--head", o.heads, "Of these heads only; all about it if it is one")->type_name("LIST");
    app->add_option("--call", o.calls, "Of this call only (may be repeated)")->type_name("NAME");
    app->add_option("--where", o.where, "Heads that fulfil this only (may be repeated)")->type_name("CONDITION");
    app->add_option("--sort", o.sort, "Order by this column, the largest first")->type_name("COLUMN");
    app->add_flag("--ascending", o.ascending, "With --sort: the smallest first");
    app->add_option("--top", o.top, "So many rows at most")->type_name("N");
    app->add_option("--columns", o.columns, "Columns of the table")->type_name("COLUMN,...");
    app->add_flag("--apart", o.apart,
                  "The batch entries of a capture each by itself (those of plain tensors always are)");
    app->add_flag("--json", o.json, "Print a JSON document: every statistic, the distances, the words");
    app->add_flag("--csv", o.csv, "Print every column as CSV");
    add_names_and_semantics(*app, o.tensors);
    app->add_option("--o", o.o, "Name of the output that q, k, v are checked with (default o)")->type_name("NAME");
    app->add_option("--threads", o.tensors.threads, "Threads (default: as many as the machine gives)")->type_name("N");
    app->add_option("--target", o.tensors.target, "Instruction set to use")
        ->type_name("auto|avx512|avx512bf16|avx2|neon|portable");
    app->footer(kFooter);
    app_ = app;
    return app;
  }

  Result<int> run(Console& console) override {
    QKV_RETURN_IF_ERROR(check_options());
    InterruptGuard guard;
    ProgressBar bar(console);
    Execution execution;
    execution.threads = options_.tensors.threads;
    QKV_ASSIGN_OR_RETURN(execution.target, parse_target(options_.tensors.target));
    execution.progress = [&bar](std::int64_t done, std::int64_t total) {
      bar.show(done, total);
      return !InterruptGuard::requested();
    };
    Result<Surveyed> surveyed = survey(execution);
    bar.clear();
    if (surveyed.code() == StatusCode::kCancelled || InterruptGuard::requested()) {
      console.err << "qkv survey: interrupted\n";
      return kInterrupted;
    }
    if (!surveyed.is_ok()) return surveyed.status();
    const int verdict = judge(surveyed->rows, console);
    const bool is_one = surveyed->rows.size() == 1;
    QKV_RETURN_IF_ERROR(select_rows(options_, surveyed->rows));
    QKV_RETURN_IF_ERROR(print(*surveyed, is_one, console));
    return verdict;
  }

 private:
  Status check_options() const {
    if (options_.json && options_.csv) return invalid_argument("--json and --csv are both given; give one");
    if (options_.ascending && options_.sort.empty())
      return invalid_argument("--ascending has no effect without --sort");
    if (options_.top && *options_.top < 1)
      return invalid_argument("--top: expected at least 1, found " + std::to_string(*options_.top));
    if ((options_.json || options_.csv) && !options_.columns.empty())
      return invalid_argument("--columns has no effect with --json or --csv, which print all");
    std::vector<SurveyRow> none;
    QKV_RETURN_IF_ERROR(select_rows(options_, none));  // before minutes of work: are the names right
    Surveyed nothing;
    SurveyOptions columns = options_;
    columns.columns = split_words(options_.columns);
    return chosen_columns(columns, nothing).status();
  }

  Result<Surveyed> survey(const Execution& execution) {
    QKV_ASSIGN_OR_RETURN(const SurveySelection selection, SurveySelection::parse(options_));
    const std::vector<std::string>& files = options_.tensors.files;
    QKV_ASSIGN_OR_RETURN(TensorFile file, TensorFile::open(files.front()));
    if (!Capture::is_in(file)) return survey_tensors(options_, selection, execution);
    if (files.size() > 1) return invalid_argument(files.front() + " is a capture, which is surveyed by itself");
    QKV_RETURN_IF_ERROR(refuse_tensor_options(*app_));
    QKV_ASSIGN_OR_RETURN(Capture capture, Capture::open(std::move(file)));
    return survey_capture(capture, selection, options_.apart ? BatchEntries::kApart : BatchEntries::kTogether,
                          execution);
  }

  // Says which heads cannot be trusted.
  static int judge(const std::vector<SurveyRow>& rows, Console& console) {
    const SurveyRow* worst = nullptr;
    std::size_t wrong = 0;
    for (const SurveyRow& row : rows) {
      if (!row.error || !row.allowed || *row.error <= *row.allowed) continue;
      ++wrong;
      if (worst == nullptr || *row.error > *worst->error) worst = &row;
    }
    if (worst == nullptr) return kDone;
    char text[96];
    std::snprintf(text, sizeof text, "o differs by %.2g from what was captured (allowed %.2g)", *worst->error,
                  *worst->allowed);
    console.err << "qkv survey: " << wrong << " of " << rows.size() << " heads cannot be recomputed: " << text
                << "; what is said of them is not to be trusted\n";
    return kWrong;
  }

  Status print(const Surveyed& surveyed, bool is_one, Console& console) const {
    const std::string& path = options_.tensors.files.front();
    if (options_.json) {
      console.out << survey_json(surveyed, path) << '\n';
      return {};
    }
    if (options_.csv) {
      console.out << survey_csv(surveyed);
      return {};
    }
    for (const std::string& remark : surveyed.remarks) console.err << "qkv survey: " << remark << '\n';
    if (surveyed.rows.empty()) {
      console.out << "no head fulfils the conditions\n";
      return {};
    }
    if (is_one && options_.columns.empty()) {
      print_head(surveyed.rows.front(), console);
      return {};
    }
    SurveyOptions columns = options_;
    columns.columns = split_words(options_.columns);
    QKV_ASSIGN_OR_RETURN(const auto chosen, chosen_columns(columns, surveyed));
    print_table(surveyed.rows, chosen, !options_.columns.empty(), console);
    return {};
  }

  SurveyOptions options_;
  CLI::App* app_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_survey_command() { return std::make_unique<SurveyCommand>(); }

}  // namespace qkv::cli
