// One child that serves call after call, and a new one after each that has ended.
#include "src/check/library/library_subject.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>

#include "src/check/library/arena.h"
#include "src/check/library/call_memory.h"
#include "src/check/library/call_slots.h"
#include "src/check/library/child_process.h"
#include "src/check/library/library_file.h"
#include "src/check/library/library_words.h"
#include "src/check/library/time_limit.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostAlignment = 4096;

// Text that the child has written, if it ends.
std::string text_of(const Control& control) { return {control.text, ::strnlen(control.text, kTextSize)}; }

class LibrarySubject : public Subject {
 public:
  LibrarySubject(std::string path, std::string symbol, const LibraryOptions& options, ChildProcess child)
      : path_(std::move(path)),
        symbol_(std::move(symbol)),
        options_(options),
        child_(std::move(child)),
        limit_(options.time_limit) {}

  std::string name() const override { return path_ + ":" + symbol_; }

  Result<SubjectAnswer> run(const Case& asked) override {
    QKV_ASSIGN_OR_RETURN(const CallSlots made, slots_of(asked));
    const double work = work_of(asked.problem);
    QKV_ASSIGN_OR_RETURN(SubjectAnswer answer, ask(made, Edge::kEnd, Fill::kMark, work));
    if (answer.end != SubjectEnd::kAnswered) return answer;
    QKV_ASSIGN_OR_RETURN(SubjectAnswer again, ask(made, Edge::kBegin, Fill::kZero, work));
    if (again.end != SubjectEnd::kAnswered) return again;
    const std::string omitted = omission(made, answer.outputs, again.outputs);
    if (!omitted.empty()) return ended(SubjectEnd::kFailed, omitted);
    return answer;
  }

  // A child that has loaded the library. Errors: as open_library.
  Status load() {
    QKV_RETURN_IF_ERROR(arena_.reserve(0));
    QKV_RETURN_IF_ERROR(child_.start(arena_.descriptor()));
    const std::string whole_path = std::filesystem::absolute(path_).string();
    if (whole_path.size() >= kTextSize || symbol_.size() >= kTextSize)
      return invalid_argument("check: the path or the name of the function is too long");
    Control& control = arena_.control();
    std::memcpy(control.path, whole_path.c_str(), whole_path.size() + 1);
    std::memcpy(control.symbol, symbol_.c_str(), symbol_.size() + 1);
    const Exchange exchange = give(Order::kLoad, options_.time_limit);
    if (exchange.end == Exchange::End::kCancelled) return stopped();
    if (exchange.end != Exchange::End::kReplied)
      return invalid_argument(path_ + " " + words_of_exchange(exchange, options_.time_limit) + " when it was loaded" +
                              words_of_printed(exchange.printed));
    if (control.outcome == Outcome::kLoaded) return {};
    child_.stop();
    if (control.outcome == Outcome::kNoSymbol) return missing_symbol(path_, symbol_, text_of(control));
    return invalid_argument(path_ + " cannot be loaded: " + on_one_line(text_of(control), kTextSize));
  }

 private:
  Status stopped() const { return cancelled("check: stopped while " + symbol_ + " was at work"); }

  SubjectAnswer ended(SubjectEnd end, const std::string& how) const {
    return {.end = end, .message = symbol_ + " " + how, .outputs = {}};
  }

  Exchange give(Order order, milliseconds limit) {
    Control& control = arena_.control();
    control.order = order;
    control.outcome = Outcome::kNothing;
    control.alarm_seconds = static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(limit).count()) + 2;
    return child_.give_order(limit, options_.keep_going);
  }

  Result<SubjectAnswer> ask(const CallSlots& made, Edge edge, Fill fill, double work) {
    if (!child_.is_running()) {
      const Status loaded = load();
      if (!loaded.is_ok() && loaded.code() != StatusCode::kInvalidArgument) return loaded;
      if (!loaded.is_ok())
        return SubjectAnswer{.end = SubjectEnd::kCrashed, .message = loaded.message(), .outputs = {}};
    }
    QKV_ASSIGN_OR_RETURN(const Regions regions, lay_out(made, edge, fill, options_.alignment, arena_));
    const milliseconds limit = std::chrono::ceil<milliseconds>(limit_.of(work));
    const auto begin = std::chrono::steady_clock::now();
    const Exchange exchange = give(Order::kCall, limit);
    const auto took = std::chrono::steady_clock::now() - begin;
    const Control& control = arena_.control();
    const std::string printed = words_of_printed(exchange.printed);
    if (exchange.end == Exchange::End::kCancelled) return stopped();
    if (exchange.end != Exchange::End::kReplied) {
      if (exchange.end == Exchange::End::kHung) {
        const bool is_whole = limit == options_.time_limit;
        limit_.hung();
        return ended(SubjectEnd::kHung, words_of_exchange(exchange, limit) +
                                            (is_whole ? "" : ", the time that is left to it after it has hung before") +
                                            printed);
      }
      if (control.outcome == Outcome::kLostParent)
        return ended(SubjectEnd::kCrashed, "closed files that are not its own" + printed);
      const std::string how = words_of_exchange(exchange, limit);
      if (exchange.end != Exchange::End::kSignalled || control.outcome != Outcome::kFault)
        return ended(SubjectEnd::kCrashed, how + printed);
      const Fault fault = control.fault;
      return ended(end_of_fault(fault, made.slots), how + ": " + words_of_fault(fault, made.slots) + printed);
    }
    switch (control.outcome) {
      case Outcome::kReturned:
        if (control.code == QKV_CHECK_DONE) limit_.answered(took, work);
        return returned(made, regions, control.code, printed);
      case Outcome::kException:
        return ended(SubjectEnd::kFailed,
                     "let an exception out: " + on_one_line(text_of(control), kTextSize) + printed);
      case Outcome::kNoMemory:
        return out_of_memory("check: the library's process cannot map the tensors: " + text_of(control));
      default:
        return ended(SubjectEnd::kCrashed, "wrote over the memory that its process keeps its answer in" + printed);
    }
  }

  Result<SubjectAnswer> returned(const CallSlots& made, const Regions& regions, int code, const std::string& printed) {
    const std::string damaged = damage(made, regions, arena_);
    if (!damaged.empty()) return ended(SubjectEnd::kWroteOutside, "wrote " + damaged + printed);
    if (code == QKV_CHECK_UNSUPPORTED) return ended(SubjectEnd::kRefused, "does not support this problem" + printed);
    if (code != QKV_CHECK_DONE)
      return ended(SubjectEnd::kFailed, "returned " + std::to_string(code) +
                                            ", which is neither 0 (done) nor QKV_CHECK_UNSUPPORTED (" +
                                            std::to_string(QKV_CHECK_UNSUPPORTED) + ")" + printed);
    SubjectAnswer answer;
    QKV_ASSIGN_OR_RETURN(answer.outputs, read_back(made, regions, arena_));
    return answer;
  }

  const std::string path_, symbol_;
  const LibraryOptions options_;
  Arena arena_;
  ChildProcess child_;
  TimeLimit limit_;
};

}  // namespace

Result<std::unique_ptr<Subject>> open_library(const std::string& path, const std::string& symbol,
                                              const LibraryOptions& options) {
  if (!std::has_single_bit(options.alignment) || options.alignment > kMostAlignment)
    return invalid_argument("check: an alignment is a power of two up to " + std::to_string(kMostAlignment) + ", not " +
                            std::to_string(options.alignment));
  QKV_RETURN_IF_ERROR(check_library_file(path));
  QKV_ASSIGN_OR_RETURN(ChildProcess child, ChildProcess::prepare());
  auto subject = std::make_unique<LibrarySubject>(path, symbol, options, std::move(child));
  QKV_RETURN_IF_ERROR(subject->load());
  return std::unique_ptr<Subject>(std::move(subject));
}

}  // namespace qkv::check
