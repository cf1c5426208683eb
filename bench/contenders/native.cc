// The runner's passes and ceilings as C functions, so that peers.py can time them in the process of the peers.
#include <memory>
#include <string>

#include "bench/bandwidth.h"
#include "bench/peak.h"
#include "bench/subject.h"
#include "qkv/target.h"

namespace {

using qkv::bench::ReadLoop;
using qkv::bench::Subject;

thread_local std::string last_error;

qkv::Execution execution(int threads) {
  qkv::Execution how;
  how.threads = threads;
  return how;
}

// Keeps the message; nobody on the other side knows a Status.
bool failed(const qkv::Status& status) {
  if (status.is_ok()) return false;
  last_error = status.message();
  return true;
}

qkv::Result<std::unique_ptr<Subject>> make(const char* pass_name, const char* line) {
  const auto pass = qkv::bench::parse_pass(pass_name);
  if (!pass.is_ok()) return pass.status();
  const auto problem = qkv::parse_problem(line);
  if (!problem.is_ok()) return problem.status();
  return qkv::bench::make_subject({*pass, *problem});
}

}  // namespace

extern "C" {

const char* qkv_bench_error() { return last_error.c_str(); }

const char* qkv_bench_target() {
  static const std::string name(to_string(qkv::available_targets().front()));
  return name.c_str();
}

double qkv_bench_fma_peak(double seconds, int threads) {
  return qkv::bench::measure_fma_peak(qkv::available_targets().front(), seconds, qkv::DType::kF32, threads);
}

ReadLoop* qkv_bench_read_loop(double bytes) { return new ReadLoop(static_cast<std::size_t>(bytes)); }
double qkv_bench_read_rate(const ReadLoop* loop, double seconds, int threads) {
  return loop->measure(seconds, threads);
}
void qkv_bench_free_read_loop(const ReadLoop* loop) { delete loop; }

// Null on an error.
Subject* qkv_bench_subject(const char* pass, const char* problem) {
  auto made = make(pass, problem);
  return failed(made.status()) ? nullptr : std::move(made).value().release();
}
void qkv_bench_free_subject(const Subject* subject) { delete subject; }

// The largest error against float64; negative if the result is wrong or the call failed.
double qkv_bench_check(Subject* subject, int threads) {
  const auto check = subject->check(execution(threads));
  if (failed(check.status())) return -1;
  if (check->failure.empty()) return check->largest_error;
  last_error = "the result is wrong: " + check->failure;
  return -1;
}

// 0 if done.
int qkv_bench_call(Subject* subject, int threads) { return failed(subject->call(execution(threads)).status()) ? 1 : 0; }

double qkv_bench_flops(Subject* subject, int threads) {
  const auto report = subject->call(execution(threads));
  return failed(report.status()) ? 0 : report->flops;
}
double qkv_bench_bytes(const Subject* subject) { return subject->bytes(); }

}  // extern "C"
