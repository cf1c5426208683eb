// `qkv bench`: how fast, as a share of what the machine can do, and how right.
#include <CLI/CLI.hpp>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "apps/cli/bench_table.h"
#include "apps/cli/command.h"
#include "apps/cli/interrupt.h"
#include "apps/cli/machine_info.h"
#include "apps/cli/progress_bar.h"
#include "bench/problem_sets.h"
#include "bench/record_json.h"
#include "bench/runner.h"
#include "src/core/status_macros.h"
#include "src/io/atomic_file.h"

namespace qkv::cli {
namespace {

constexpr const char* kFooter =
    "A problem is one line of text, see include/qkv/problem.h; its element type is a word of it (bf16).\n"
    "Each result is held to float64 before it is timed; a wrong one is not timed, and the exit code is 1.\n"
    "Ctrl-C ends the run; what was measured stays, in the table and in the JSON.\n"
    "\n"
    "Examples:\n"
    "  qkv bench                                          a minute's look\n"
    "  qkv bench \"attention H12 T1024 D64 causal\" --threads 1,2\n"
    "  qkv bench --set prefill --set causal --dtype f32,bf16 --json now.json\n"
    "  qkv bench --set prefill --compare before.json      what a change did\n"
    "  qkv bench --list                                   the sets and their problems";

struct Flags {
  std::vector<std::string> problems, sets;
  std::string pass, dtypes = "f32", threads = "1", target = "auto", json, compare;
  int rounds = 9;
  bool list = false;
};

// "1,,2" has an empty word between its commas.
std::vector<std::string> split_at_commas(const std::string& text) { return CLI::detail::split(text, ','); }

Result<std::vector<DType>> parse_dtypes(const std::string& text) {
  std::vector<DType> dtypes;
  for (const std::string& word : split_at_commas(text)) {
    const Result<DType> dtype = parse_dtype(word);
    if (!dtype.is_ok() || !is_floating(*dtype))
      return invalid_argument("--dtype '" + text + "': expected f32, bf16, f16 or f64, with commas between them");
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

// Whether a problem's line says its element type; then --dtype does not.
bool names_a_type(const std::string& line) {
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (parse_dtype(word).is_ok()) return true;
  return false;
}

Result<std::vector<int>> parse_threads(const std::string& text) {
  constexpr long kMost = 1024;
  std::vector<int> threads;
  for (const std::string& word : split_at_commas(text)) {
    char* end = nullptr;
    const long number = std::strtol(word.c_str(), &end, 10);
    if (word.empty() || *end != '\0' || number < 1 || number > kMost)
      return invalid_argument("--threads '" + text + "': expected numbers of threads, such as 1 or 1,2");
    threads.push_back(static_cast<int>(number));
  }
  return threads;
}

Result<std::vector<bench::Record>> read_records(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return io_error("--compare " + path + ": it cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  Result<std::vector<bench::Record>> records = bench::records_from_json(text.str());
  if (!records.is_ok()) return Status(records.code(), "--compare " + path + ": " + records.status().message());
  return records;
}

class BenchCommand : public Command {
 public:
  CLI::App* add(CLI::App& tool) override {
    CLI::App* app = tool.add_subcommand("bench", "Measure: time, share of the machine's peak, error");
    app->add_option("problems", flags_.problems, "Problem lines, each in quotes (default: --set quick)");
    app->add_option("--set", flags_.sets, "Problems by name (may be repeated); --list shows them")
        ->type_name("NAME")
        ->allow_extra_args(false);
    app->add_option("--pass", flags_.pass, "What to compute, instead of what the problem or set says")
        ->type_name("NAME");
    app->add_option("--dtype", flags_.dtypes,
                    "Element types of the sets' problems, and of a problem line that names none (default f32)")
        ->type_name("TYPES");
    app->add_option("--threads", flags_.threads, "Numbers of threads, measured side by side (default 1)")
        ->type_name("NUMBERS");
    app->add_option("--rounds", flags_.rounds, "Rounds (default 9); at least 7 for a figure that is quoted")
        ->type_name("N");
    app->add_option("--target", flags_.target, "Instruction set to use")
        ->type_name("auto|avx512|avx512bf16|avx2|neon|portable");
    app->add_option("--json", flags_.json, "Write every round to a file; - for standard output, without the table")
        ->type_name("FILE");
    app->add_option("--compare", flags_.compare, "An earlier --json file: show what changed")->type_name("FILE");
    app->add_flag("--list", flags_.list, "List the sets and their problems");
    app->footer(kFooter);
    return app;
  }

  Result<int> run(Console& console) override {
    if (flags_.list) return list(console);
    QKV_ASSIGN_OR_RETURN(const std::vector<bench::Request> requests, make_requests());
    QKV_ASSIGN_OR_RETURN(const bench::RunOptions options, run_options());
    std::vector<bench::Record> old_records;
    if (!flags_.compare.empty()) {
      QKV_ASSIGN_OR_RETURN(old_records, read_records(flags_.compare));
    }
    std::optional<AtomicFile> file;
    if (!flags_.json.empty() && flags_.json != "-") {
      Result<AtomicFile> opened = AtomicFile::create(flags_.json);
      if (!opened.is_ok())
        return Status(opened.code(), "cannot write " + flags_.json + ": " + opened.status().message());
      file.emplace(std::move(opened).value());
    }
    QKV_ASSIGN_OR_RETURN(const int code, measure_all(requests, options, old_records, console));
    if (flags_.json == "-") console.out << bench::to_json(records_, processor_name());
    if (file) {
      QKV_RETURN_IF_ERROR(file->write(bench::to_json(records_, processor_name())));
      QKV_RETURN_IF_ERROR(file->commit());
    }
    return code;
  }

 private:
  static Result<int> list(Console& console) {
    for (const bench::ProblemSet& set : bench::problem_sets()) {
      console.out << set.name << ": " << set.about << '\n';
      if (set.name == "all") continue;
      for (const bench::Request& request : set.requests)
        console.out << "  " << to_string(request.pass) << "  " << format(request.problem) << '\n';
    }
    return kDone;
  }

  Result<std::vector<bench::Request>> make_requests() const {
    std::vector<bench::Request> requests;
    QKV_ASSIGN_OR_RETURN(const std::vector<DType> dtypes, parse_dtypes(flags_.dtypes));
    for (const std::string& line : flags_.problems) {
      QKV_ASSIGN_OR_RETURN(Problem problem, parse_problem(line));
      for (const DType dtype : names_a_type(line) ? std::vector<DType>{problem.dtype} : dtypes) {
        problem.dtype = dtype;
        requests.push_back({bench::pass_of(problem), problem});
      }
    }
    std::vector<std::string> sets = flags_.sets;
    if (sets.empty() && requests.empty()) sets.emplace_back("quick");
    for (const std::string& set : sets) {
      QKV_ASSIGN_OR_RETURN(const std::vector<bench::Request> more, bench::requests_of_set(set, dtypes));
      requests.insert(requests.end(), more.begin(), more.end());
    }
    if (flags_.pass.empty()) return requests;
    QKV_ASSIGN_OR_RETURN(const bench::Pass pass, bench::parse_pass(flags_.pass));
    for (bench::Request& request : requests) request.pass = pass;
    return requests;
  }

  Result<bench::RunOptions> run_options() const {
    bench::RunOptions options;
    QKV_ASSIGN_OR_RETURN(options.threads, parse_threads(flags_.threads));
    QKV_ASSIGN_OR_RETURN(options.target, parse_target(flags_.target));
    QKV_RETURN_IF_ERROR(resolve_target(options.target).status());
    if (flags_.rounds < 1 || flags_.rounds > 10000)
      return invalid_argument("--rounds is " + std::to_string(flags_.rounds) + "; expected 1 to 10000");
    options.rounds = flags_.rounds;
    options.stop = [] { return InterruptGuard::requested(); };
    return options;
  }

  // Measures and prints row by row; the exit code.
  Result<int> measure_all(const std::vector<bench::Request>& requests, bench::RunOptions options,
                          const std::vector<bench::Record>& old_records, Console& console) {
    std::ostringstream nowhere;
    BenchTable table(flags_.json == "-" ? static_cast<std::ostream&>(nowhere) : console.out,
                     {options.threads.size() > 1, !flags_.compare.empty(), console.width});
    InterruptGuard guard;
    ProgressBar bar(console);
    int code = kDone;
    for (std::size_t i = 0; i < requests.size() && !InterruptGuard::requested(); ++i) {
      options.progress = [&](int done, int total) {
        bar.show(static_cast<std::int64_t>(i) * total + done, static_cast<std::int64_t>(requests.size()) * total);
      };
      Result<std::vector<bench::Record>> records = bench::measure(requests[i], options);
      bar.clear();
      if (records.code() == StatusCode::kCancelled) break;
      if (!records.is_ok())
        return Status(records.code(), format(requests[i].problem) + ": " + records.status().message());
      table.add(*records, old_records);
      if (!records->front().check.failure.empty()) code = kWrong;
      records_.insert(records_.end(), records->begin(), records->end());
    }
    table.finish();
    if (!InterruptGuard::requested()) return code;
    console.err << "qkv bench: interrupted; " << records_.size() << " rows were measured\n";
    return kInterrupted;
  }

  Flags flags_;
  std::vector<bench::Record> records_;
};

}  // namespace

std::unique_ptr<Command> make_bench_command() { return std::make_unique<BenchCommand>(); }

}  // namespace qkv::cli
