// The signal handler touches two flags of a type that handlers may touch, and nothing else.
#include "apps/cli/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace qkv::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;
volatile std::sig_atomic_t at_once = 0;

void note_signal(int /*signal*/) {
  interrupted = 1;
  if (at_once != 0) ::_exit(kInterrupted);
}

}  // namespace

// glibc's signal() restarts system calls that a signal cuts short, so a file is written whole.
InterruptGuard::InterruptGuard()
    : previous_int_(std::signal(SIGINT, note_signal)), previous_term_(std::signal(SIGTERM, note_signal)) {
  interrupted = 0;
  at_once = 0;
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, previous_int_);
  std::signal(SIGTERM, previous_term_);
}

bool InterruptGuard::requested() { return interrupted != 0; }

void InterruptGuard::end_at_once(bool on) {  // NOLINT(readability-convert-member-functions-to-static): needs a guard
  at_once = on ? 1 : 0;
  if (on && interrupted != 0) ::_exit(kInterrupted);
}

}  // namespace qkv::cli
