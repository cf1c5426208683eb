// Times attention_forward on problem lines: checks against float64 first, then alternates with the FMA peak loop.
//
//   attention_bench [--rounds N] [PROBLEM ...]      one thread; each line prints the medians over the rounds
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/peak.h"
#include "qkv/qkv.h"
#include "src/check/bounds.h"
#include "src/check/generate.h"

namespace {

using qkv::bench::thread_seconds;

// The shapes that docs/ops/attention.md quotes.
const char* const kDefaultProblems[] = {
    "attention H12 T1024 D64",      "attention H12 T1024 D64 causal", "attention H12 T4096 D64",
    "attention H32/8 T2048 D128",   "attention H12 T64 D64",          "attention B2 H6/2 T333x777 D59/83",
    "attention H12 T1024 D64 bf16",
};

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

int fail(const std::string& what, const std::string& why) {
  std::fprintf(stderr, "attention_bench: %s: %s\n", what.c_str(), why.c_str());
  return 1;
}

// A long problem is checked on its first 512 queries and keys, since float64 in plain loops takes seconds for more.
qkv::Problem shortened(qkv::Problem problem) {
  problem.query_length = std::min<std::int64_t>(problem.query_length, 512);
  problem.key_length = std::min<std::int64_t>(problem.key_length, 512);
  return problem;
}

qkv::Status check(const qkv::Problem& problem, double& error) {
  auto made = qkv::check::generate(problem);
  if (!made.is_ok()) return made.status();
  auto outputs = qkv::check::make_outputs(problem);
  if (!outputs.is_ok()) return outputs.status();
  const auto report = qkv::attention_forward(made->inputs(), outputs->views(), made->options());
  if (!report.is_ok()) return report.status();
  const auto expected = qkv::check::expect_forward(made->inputs(), made->options(), qkv::check::output_type(problem));
  if (!expected.is_ok()) return expected.status();
  const auto verdict = qkv::check::judge(*expected, outputs->o.view, outputs->lse.view);
  if (!verdict.is_ok()) return verdict.status();
  error = verdict->o.largest_error;
  return verdict->passed() ? qkv::Status() : qkv::invalid_argument(to_string(*verdict));
}

int bench(const char* line, int rounds) {
  const auto problem = qkv::parse_problem(line);
  if (!problem.is_ok()) return fail(line, problem.status().message());
  double error = 0;
  if (const qkv::Status status = check(shortened(*problem), error); !status.is_ok())
    return fail(line, status.message());

  auto made = qkv::check::generate(*problem);
  auto outputs = qkv::check::make_outputs(*problem);
  if (!made.is_ok() || !outputs.is_ok()) return fail(line, "no memory");
  qkv::Execution execution;
  execution.threads = 1;
  std::vector<double> seconds;
  double peak = 0;
  qkv::Report report;
  for (int round = 0; round <= rounds; ++round) {  // round 0 warms up
    const auto target = report.target == qkv::Target::kAuto ? qkv::available_targets().front() : report.target;
    peak = std::max(peak, qkv::bench::measure_fma_peak(target, 0.02));
    const double start = thread_seconds();
    const auto result = qkv::attention_forward(made->inputs(), outputs->views(), made->options(), execution);
    if (!result.is_ok()) return fail(line, result.status().message());
    report = *result;
    if (round > 0) seconds.push_back(thread_seconds() - start);
  }
  const double rate = report.flops / median(seconds);
  std::printf("%-40s %9.3f ms  %7.1f GF/s  %s  error %.1e  %s\n", line, 1e3 * median(seconds), 1e-9 * rate,
              peak > 0 ? (std::to_string(rate / peak).substr(0, 5) + " of peak").c_str() : "(no peak loop)", error,
              std::string(to_string(report.target)).c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 9;
  std::vector<const char*> lines;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--rounds" && i + 1 < argc)
      rounds = std::max(1, std::atoi(argv[++i]));
    else
      lines.push_back(argv[i]);
  }
  if (lines.empty()) lines.assign(std::begin(kDefaultProblems), std::end(kDefaultProblems));
  int code = 0;
  for (const char* line : lines) code |= bench(line, rounds);
  return code;
}
