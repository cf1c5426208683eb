// The qkv tool: the process around qkv::cli::run.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ostream>

#include "apps/cli/cli.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // `qkv explain running | head -3` ends quietly: the write fails with EPIPE instead
  qkv::cli::DescriptorBuffer out_buffer(STDOUT_FILENO);
  qkv::cli::DescriptorBuffer err_buffer(STDERR_FILENO);
  std::ostream out(&out_buffer);
  std::ostream err(&err_buffer);
  err << std::unitbuf;
  qkv::cli::Console console{out, err, qkv::cli::wants_color(STDOUT_FILENO), ::isatty(STDERR_FILENO) == 1,
                            qkv::cli::terminal_width(STDOUT_FILENO)};
  const int code = qkv::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc}, console);
  out.flush();
  if (out_buffer.error() == 0 || out_buffer.error() == EPIPE) return code;
  err << "qkv: cannot write to standard output: " << std::strerror(out_buffer.error()) << '\n';
  return qkv::cli::kBadInput;
}
