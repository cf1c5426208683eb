// Warm-up, check, then rounds: ceiling, calls, ceiling.
#include "bench/runner.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "bench/bandwidth.h"
#include "bench/peak.h"
#include "bench/statistics.h"
#include "src/core/status_macros.h"

namespace qkv::bench {
namespace {

constexpr double kRoundSeconds = 0.02;    // of calls, where one call is shorter
constexpr double kCeilingSeconds = 0.02;  // of the peak loop before and after
constexpr std::int64_t kMostCalls = 10000;

// Seconds of one call by two clocks.
struct Times {
  double seconds = 0, wall = 0;
};

class Runner {
 public:
  Runner(const Request& request, const RunOptions& options, Subject& subject)
      : options_(options), subject_(subject), dtype_(request.problem.dtype) {
    for (int threads : options.threads) {
      Record record;
      record.pass = request.pass;
      record.problem = format(request.problem);
      record.threads = threads;
      records_.push_back(std::move(record));
    }
  }

  Result<std::vector<Record>> run() {
    QKV_ASSIGN_OR_RETURN(const Check check, subject_.check(execution(records_.front())));
    for (Record& record : records_) {
      record.check = check;
      QKV_RETURN_IF_ERROR(warm_up(record));
    }
    if (!check.failure.empty()) return std::move(records_);
    for (int round = 0; round < options_.rounds; ++round) {
      if (options_.progress) options_.progress(round, options_.rounds);
      std::vector<Record> before = records_;
      for (Record& record : records_) QKV_RETURN_IF_ERROR(add_round(record));
      if (!stopped()) continue;
      records_ = std::move(before);  // only whole rounds count
      if (round == 0) return cancelled("interrupted");
      break;
    }
    return std::move(records_);
  }

 private:
  bool stopped() const { return options_.stop && options_.stop(); }

  Execution execution(const Record& record) const {
    Execution execution;
    execution.threads = record.threads;
    execution.target = options_.target;
    return execution;
  }

  double ceiling(const Record& record) const {
    if (read_loop_) return read_loop_->measure(kCeilingSeconds, record.threads);
    return measure_fma_peak(record.target, kCeilingSeconds, dtype_, record.threads);
  }

  // Learns what a call does and how long it takes, which decides how many make a round.
  Status warm_up(Record& record) {
    double fastest = 0;
    for (int i = 0; i < 3 && !stopped(); ++i) {
      const double start = wall_seconds();
      QKV_ASSIGN_OR_RETURN(const Report report, subject_.call(execution(record)));
      const double took = wall_seconds() - start;
      fastest = i == 0 ? took : std::min(fastest, took);
      record.target = report.target;
      record.threads_ran = std::max(record.threads_ran, report.threads);
      record.flops = report.flops;
      record.scratch_bytes = static_cast<std::int64_t>(report.scratch_bytes);
      record.bytes = subject_.bytes();
      if (record.bytes > 0 && !read_loop_) read_loop_.emplace(static_cast<std::size_t>(record.bytes));
      if (took > kRoundSeconds) break;
    }
    const double calls = std::ceil(kRoundSeconds / std::max(fastest, 1e-9));
    record.calls = std::clamp(static_cast<std::int64_t>(std::min(calls, 1e9)), std::int64_t{1}, kMostCalls);
    if (fastest < kShortCall) record.calls = kMostCalls;
    return {};
  }

  Status add_round(Record& record) {
    const double before = ceiling(record);
    QKV_ASSIGN_OR_RETURN(const Times times, time_calls(record));
    record.seconds.push_back(times.seconds);
    record.wall.push_back(times.wall);
    record.ceiling.push_back((before + ceiling(record)) / 2);
    return {};
  }

  // The medians over the calls of a round. The thread's own clock costs a system call, so that short calls and those of
  // several threads are timed by the wall clock alone, at some 20 ns a reading.
  Result<Times> time_calls(const Record& record) {
    const Execution how = execution(record);
    const bool own_clock = record.threads == 1 && record.bytes == 0 && record.calls < kMostCalls;
    std::vector<double> wall, own;
    wall.reserve(static_cast<std::size_t>(record.calls));
    own.reserve(own_clock ? wall.capacity() : 0);
    const bool may_stop = record.calls < kMostCalls;
    for (std::int64_t i = 0; i < record.calls; ++i) {
      if (may_stop && stopped()) break;
      const double own_start = own_clock ? thread_seconds() : 0;
      const double start = wall_seconds();
      QKV_RETURN_IF_ERROR(subject_.call(how).status());
      wall.push_back(wall_seconds() - start);
      if (own_clock) own.push_back(thread_seconds() - own_start);
    }
    const double middle = median(std::move(wall));
    return Times{own_clock ? median(std::move(own)) : middle, middle};
  }

  const RunOptions& options_;
  Subject& subject_;
  const DType dtype_;
  std::optional<ReadLoop> read_loop_;  // the ceiling of a pass that moves bytes
  std::vector<Record> records_;
};

}  // namespace

Result<std::vector<Record>> measure(const Request& request, const RunOptions& options) {
  QKV_ASSIGN_OR_RETURN(const std::unique_ptr<Subject> subject, make_subject(request));
  return Runner(request, options, *subject).run();
}

}  // namespace qkv::bench
