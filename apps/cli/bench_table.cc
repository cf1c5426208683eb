// Numbers first and right-aligned; the problem, whose length varies, last.
#include "apps/cli/bench_table.h"

#include <algorithm>
#include <cstdio>

#include "apps/cli/text.h"
#include "bench/compare_records.h"

namespace qkv::cli {
namespace {

constexpr int kTime = 9, kRate = 8, kShare = 7, kError = 9, kThreads = 4, kSpeedup = 8, kChange = 14;

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string share_text(double share) { return share > 0 ? formatted("%.3f", share) : "-"; }

std::string change_text(const bench::Record& record, const std::vector<bench::Record>& old_records) {
  const auto change = bench::change_of(record, old_records);
  if (!change) return "new";
  const char* const verdict = !change->is_clear() ? " =" : change->ratio > 1 ? " +" : " -";
  return formatted("%.3f", change->ratio) + formatted("±%.3f", change->noise) + verdict;
}

// The line without its first word, which every row would repeat.
std::string short_problem(const std::string& problem) {
  const std::string first = "attention ";
  return problem.starts_with(first) ? problem.substr(first.size()) : problem;
}

}  // namespace

std::string call_time(double seconds) {
  if (seconds < 1e-6) return formatted("%.0f ns", seconds * 1e9);
  if (seconds < 1e-3) return formatted("%.3g µs", seconds * 1e6);
  return seconds < 1 ? formatted("%.3g ms", seconds * 1e3) : formatted("%.3g s", seconds);
}

void BenchTable::add(const std::vector<bench::Record>& records, const std::vector<bench::Record>& old_records) {
  for (const bench::Record& record : records) {
    heading(record);
    row(record, records.front(), old_records);
  }
}

void BenchTable::heading(const bench::Record& record) {
  const std::string title = std::string(to_string(record.pass)) + ", " + std::string(to_string(record.target));
  if (title == heading_) return;
  out_ << (heading_.empty() ? "" : "\n") << title << '\n'
       << pad_left("time", kTime) << pad_left(record.bytes > 0 ? "GB/s" : "GF/s", kRate) << pad_left("share", kShare)
       << pad_left("best", kShare) << pad_left("error", kError) << pad_left("thr", kThreads)
       << (columns_.speedup ? pad_left("speedup", kSpeedup) : "")
       << (columns_.change ? pad_left("change", kChange) : "") << "  problem\n";
  heading_ = title;
}

void BenchTable::row(const bench::Record& record, const bench::Record& first,
                     const std::vector<bench::Record>& old_records) {
  std::string line;
  if (!record.check.failure.empty()) {
    line = pad_left("WRONG", kTime);
  } else {
    line = pad_left(call_time(call_seconds(record)), kTime) + pad_left(formatted("%.1f", rate(record) * 1e-9), kRate) +
           pad_left(share_text(share(record)), kShare) + pad_left(share_text(share_of_best(record)), kShare) +
           pad_left(formatted("%.1e", record.check.largest_error), kError) +
           pad_left(std::to_string(record.threads_ran > 0 ? record.threads_ran : record.threads), kThreads);
    if (columns_.speedup)
      line += pad_left(&record == &first ? "" : formatted("%.2f", speedup(record, first)), kSpeedup);
    if (columns_.change) line += pad_left(change_text(record, old_records), kChange);
  }
  const int before = kTime + kRate + 2 * kShare + kError + kThreads + (columns_.speedup ? kSpeedup : 0) +
                     (columns_.change ? kChange : 0) + 2;
  const std::string what =
      short_problem(record.problem) + (record.check.failure.empty() ? "" : ": " + record.check.failure);
  const std::vector<std::string> problem = wrapped(what, std::max(columns_.width - before, 20), 0);
  out_ << pad_right(line, before) << problem.front() << '\n';
  for (std::size_t i = 1; i < problem.size(); ++i)
    out_ << std::string(static_cast<std::size_t>(before), ' ') << problem[i] << '\n';
  out_ << std::flush;
  has_short_call_ = has_short_call_ || (record.calls > 1 && call_seconds(record) < bench::kShortCall);
  if (most_rounds_ == 0) fewest_rounds_ = record.seconds.size();
  fewest_rounds_ = std::min(fewest_rounds_, record.seconds.size());
  most_rounds_ = std::max(most_rounds_, record.seconds.size());
  has_sample_ = has_sample_ || record.check.rows < record.check.of_rows;
}

void BenchTable::finish() {
  if (heading_.empty()) return;
  std::string text =
      "share: median over " + (fewest_rounds_ < most_rounds_ ? std::to_string(fewest_rounds_) + " to " : "") +
      std::to_string(most_rounds_) + (most_rounds_ == 1 ? " round" : " rounds") +
      " of the speed over the ceiling of the same round (FMA peak, or reading memory where GB/s stands); "
      "best: the table's speed over the best round's ceiling. error: largest difference from float64";
  text += has_sample_ ? ", of long problems on runs of rows at their start, middle and end." : ".";
  text += " thr: threads that ran; the ceiling is that of as many as --threads allows.";
  if (columns_.speedup) text += " speedup: over the first number of threads, in the same rounds, by the wall clock.";
  if (has_short_call_)
    text += " Below 50 µs time is the best round's median of 10,000 calls, and best may exceed share.";
  if (columns_.change) text += " change: new speed over old, ± the rounds' spread; + faster, - slower, = noise.";
  out_ << '\n';
  for (const std::string& line : wrapped(text, std::min(columns_.width, 100), 0)) out_ << line << '\n';
}

}  // namespace qkv::cli
