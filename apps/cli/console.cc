// The process's own terminal.
#include "apps/cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace qkv::cli {

DescriptorBuffer::int_type DescriptorBuffer::overflow(int_type character) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(character, traits_type::eof())) sputc(traits_type::to_char_type(character));
  return traits_type::not_eof(character);
}

int DescriptorBuffer::sync() {
  const char* next = pbase();
  while (next < pptr() && error_ == 0) {
    const ssize_t written = ::write(descriptor_, next, static_cast<std::size_t>(pptr() - next));
    if (written >= 0)
      next += written;
    else if (errno != EINTR)
      error_ = errno;
  }
  setp(memory_, memory_ + sizeof memory_);
  return error_ == 0 ? 0 : -1;
}

bool wants_color(int descriptor) {
  const char* refused = std::getenv("NO_COLOR");
  if (refused != nullptr && *refused != '\0') return false;
  const char* kind = std::getenv("TERM");
  if (kind == nullptr || std::string_view(kind) == "dumb") return false;
  return ::isatty(descriptor) == 1;
}

int terminal_width(int descriptor) {
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) {
    const long value = std::strtol(columns, nullptr, 10);
    if (value > 0 && value < 100000) return std::max(kNarrowest, static_cast<int>(value));
  }
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::max(kNarrowest, static_cast<int>(size.ws_col));
  return kPlainWidth;
}

}  // namespace qkv::cli
