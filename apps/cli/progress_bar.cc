// The bar redraws its own line: carriage return, text, erase to the end of the line.
#include "apps/cli/progress_bar.h"

#include <cmath>

namespace qkv::cli {

std::string progress_text(std::int64_t done, std::int64_t total, double seconds) {
  constexpr int kCells = 24;
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1.0;
  const auto full = static_cast<std::size_t>(share * kCells);
  const auto left = static_cast<std::int64_t>(std::ceil(share > 0 ? seconds * (1 - share) / share : 0));
  const std::string percent = std::to_string(static_cast<int>(share * 100));
  std::string text = "[";
  text.append(full, '#').append(kCells - full, '-').append("] ").append(3 - percent.size(), ' ');
  return text.append(percent).append(" %, ").append(std::to_string(left)).append(" s left");
}

void ProgressBar::show(std::int64_t done, std::int64_t total) {
  if (!live_ || Clock::now() < next_) return;
  next_ = Clock::now() + std::chrono::milliseconds(100);
  drawn_ = true;
  out_ << '\r' << progress_text(done, total, std::chrono::duration<double>(Clock::now() - start_).count()) << "\x1b[K"
       << std::flush;
}

void ProgressBar::clear() {
  if (drawn_) out_ << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

}  // namespace qkv::cli
