// The opener runs as a process of its own, which Ctrl-C at the terminal does not reach.
#include "apps/cli/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <utility>

#if defined(__APPLE__)
extern "C" char** environ;  // glibc declares it in unistd.h
#endif

namespace qkv::cli {
namespace {

// What the opener is started with: no input, nothing on our terminal, usual signals, a process group of its own.
class Apart {
 public:
  Apart() {
    posix_spawn_file_actions_init(&actions);
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0);
    posix_spawnattr_init(&attributes);
    sigset_t usual;
    sigemptyset(&usual);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM}) sigaddset(&usual, signal);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~Apart() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

}  // namespace

const char* Browser::usual_opener() {
#if defined(__APPLE__)
  return "open";
#else
  return "xdg-open";
#endif
}

void Browser::open(const std::string& address) {
  const Apart apart;
  std::string program = opener_, argument = address;
  char* arguments[] = {program.data(), argument.data(), nullptr};
  const int error = posix_spawnp(&process_, opener_.c_str(), &apart.actions, &apart.attributes, arguments, environ);
  if (error == 0) return;
  process_ = -1;
  trouble_ = "cannot start " + opener_ + " (" + std::strerror(error) + ")";
}

std::string Browser::trouble() {
  int status = 0;
  if (process_ > 0 && waitpid(process_, &status, WNOHANG) == process_) {
    process_ = -1;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) trouble_ = opener_ + " did not open it";
  }
  return std::exchange(trouble_, "");
}

}  // namespace qkv::cli
