// Where a command writes, and what the place can show: colour, width, language of the error text.
#ifndef QKV_APPS_CLI_CONSOLE_H_
#define QKV_APPS_CLI_CONSOLE_H_

#include <ostream>
#include <streambuf>

namespace qkv::cli {

inline constexpr int kPlainWidth = 80;   // columns where the width is unknown: a pipe, a file
inline constexpr int kNarrowest = 24;    // below this, lines are cut by the terminal itself
inline constexpr int kWidestText = 120;  // prose wider than this is hard to read

// What commands are given instead of std::cout and std::cerr, so that tests can look at all they print.
struct Console {
  std::ostream& out;        // results
  std::ostream& err;        // errors, progress
  bool color = false;       // escape sequences may go to `out`
  bool live = false;        // `err` is a terminal: a progress bar may redraw its line
  int width = kPlainWidth;  // columns of `out`
};

// A stream buffer on a file descriptor that remembers why a write failed.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor) : descriptor_(descriptor) { setp(memory_, memory_ + sizeof memory_); }
  ~DescriptorBuffer() override { sync(); }
  DescriptorBuffer(const DescriptorBuffer&) = delete;
  DescriptorBuffer& operator=(const DescriptorBuffer&) = delete;

  // errno of the first write that failed, 0 if none did.
  int error() const { return error_; }

 protected:
  int_type overflow(int_type character) override;
  int sync() override;

 private:
  const int descriptor_;
  int error_ = 0;
  char memory_[8192];
};

// Whether escape sequences may be written to a descriptor: a terminal, NO_COLOR unset or empty (no-color.org), TERM not
// "dumb".
bool wants_color(int descriptor);

// Columns of the terminal behind a descriptor; COLUMNS overrides it; kPlainWidth where neither says.
int terminal_width(int descriptor);

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_CONSOLE_H_
