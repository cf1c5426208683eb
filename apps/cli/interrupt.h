// Ctrl-C while a command works: nothing half-written stays behind, and the exit code says so.
#ifndef QKV_APPS_CLI_INTERRUPT_H_
#define QKV_APPS_CLI_INTERRUPT_H_

namespace qkv::cli {

inline constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells have it

// From construction to destruction SIGINT and SIGTERM are noted instead of ending the process. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static bool requested();

  // For work that cannot be asked to stop and has written nothing: a signal ends the process at once with
  // kInterrupted.
  void end_at_once(bool on);

 private:
  void (*previous_int_)(int);
  void (*previous_term_)(int);
};

}  // namespace qkv::cli

#endif  // QKV_APPS_CLI_INTERRUPT_H_
