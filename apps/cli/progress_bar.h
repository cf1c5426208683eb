// A bar for long work, on a terminal only.
#ifndef QKV_APPS_CLI_PROGRESS_BAR_H_
#define QKV_APPS_CLI_PROGRESS_BAR_H_

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

#include "apps/cli/console.h"

namespace qkv::cli {

class ProgressBar {
 public:
  // Draws on console.err if it is a terminal, else nothing.
  explicit ProgressBar(Console& console) : out_(console.err), live_(console.live) {}
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Redraws at most ten times a second, and only once the work has lasted half a second.
  void show(std::int64_t done, std::int64_t total);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::ostream& out_;
  const bool live_;
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::milliseconds(500);
  bool drawn_ = false;
};

// "[########----------------]  33 %, 12 s left"
std::string progress_text(std::int64_t done, std::int64_t total, double seconds);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_PROGRESS_BAR_H_
