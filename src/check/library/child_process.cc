// posix_spawn, a socket for orders, and a pipe that is emptied while we wait (a child that prints must not block).
#include "src/check/library/child_process.h"

#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "src/check/library/child_program.h"
#include "src/check/library/protocol.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPrintedKept = 2048;
constexpr std::chrono::milliseconds kTick{20};     // an end that closes no descriptor is seen after that
constexpr std::chrono::milliseconds kLastTick{1};  // once the socket is closed

Status failed(const char* what, int error) {
  return io_error(std::string("check: the process for the library cannot be started: ") + what + ": " +
                  std::strerror(error));
}

Status write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return failed("write", errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// The plan of a spawn: descriptors, signals, a process group of its own (Ctrl-C is for us, not for it).
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    sigset_t all, none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  void give(const Descriptor& file, int number) { ::posix_spawn_file_actions_adddup2(&actions, file.number(), number); }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

}  // namespace

Result<ChildProcess> ChildProcess::prepare() {
  ChildProcess child;
  constexpr unsigned kExecutable = 0x10;  // MFD_EXEC of Linux 6.3: some machines make memory files for data only
  Descriptor file(::memfd_create("qkv-check-child", MFD_CLOEXEC | kExecutable));
  if (!file.is_open()) file = Descriptor(::memfd_create("qkv-check-child", MFD_CLOEXEC));
  child.program_ = moved_up(std::move(file));
  if (!child.program_.is_open()) return failed("memfd_create", errno);
  QKV_RETURN_IF_ERROR(write_all(child.program_.number(), child_program()));
  return child;
}

Status ChildProcess::start(int arena) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return failed("socketpair", errno);
  Descriptor ours = moved_up(Descriptor(ends[0])), theirs = moved_up(Descriptor(ends[1]));
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed("pipe2", errno);
  Descriptor printed = moved_up(Descriptor(ends[0])), printing = moved_up(Descriptor(ends[1]));
  ::fcntl(printed.number(), F_SETFL, O_NONBLOCK);
  Descriptor memory = moved_up(Descriptor(::dup(arena)));
  for (const Descriptor* file : {&ours, &theirs, &printed, &printing, &memory})
    if (!file->is_open()) return failed("fcntl", errno);

  SpawnPlan plan;
  plan.give(printing, STDOUT_FILENO);
  plan.give(printing, STDERR_FILENO);
  plan.give(theirs, kSocketFd);
  plan.give(memory, kArenaFd);
  const std::string path = "/proc/self/fd/" + std::to_string(program_.number());
  std::string name = "qkv-check-child";
  char* arguments[] = {name.data(), nullptr};
  pid_t process = -1;
  const int error = ::posix_spawn(&process, path.c_str(), &plan.actions, &plan.attributes, arguments, ::environ);
  if (error != 0) return failed("posix_spawn", error);
  process_ = process;
  socket_ = std::move(ours);
  output_ = std::move(printed);
  return {};
}

bool ChildProcess::drain(std::string& printed) const {
  constexpr int kMostReads = 16;  // a child may print faster than we read: its time goes on
  std::array<char, 4096> bytes;
  for (int reads = 0; reads < kMostReads; ++reads) {
    const ssize_t count = ::read(output_.number(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0;
    printed.append(bytes.data(), static_cast<std::size_t>(count));
    if (printed.size() > 2 * kPrintedKept) printed.erase(0, printed.size() - kPrintedKept);
  }
  return true;
}

std::optional<Exchange> ChildProcess::end_of_child() {
  int status = 0;
  pid_t ended = 0;
  do ended = ::waitpid(process_, &status, WNOHANG);
  while (ended < 0 && errno == EINTR);
  if (ended == 0) return std::nullopt;
  ::kill(-process_, SIGKILL);  // what it has started itself
  process_ = -1;
  Exchange exchange;
  exchange.end = WIFSIGNALED(status) ? Exchange::End::kSignalled : Exchange::End::kExited;
  exchange.number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return exchange;
}

Exchange ChildProcess::give_order(std::chrono::milliseconds limit, const std::function<bool()>& keep_going) {
  std::string printed;
  drain(printed);
  printed.clear();
  ++order_;
  const auto deadline = Clock::now() + limit;
  bool is_open = ::send(socket_.number(), &order_, 1, MSG_NOSIGNAL) == 1, prints = true;
  for (;;) {
    // What is closed would be ready for ever; poll() leaves out a negative number.
    std::array<pollfd, 2> ready{
        {{prints ? output_.number() : -1, POLLIN, 0}, {is_open ? socket_.number() : -1, POLLIN, 0}}};
    ::poll(ready.data(), ready.size(), static_cast<int>((is_open ? kTick : kLastTick).count()));
    prints = drain(printed);
    unsigned char reply = 0;
    if (is_open && ready[1].revents != 0) {
      is_open = ::recv(socket_.number(), &reply, 1, MSG_DONTWAIT) == 1;
      if (is_open && reply == order_) {
        drain(printed);
        return {Exchange::End::kReplied, 0, printed};
      }
    }
    if (std::optional<Exchange> ended = end_of_child()) {
      drain(printed);
      ended->printed = printed;
      return *ended;
    }
    const bool is_cancelled = keep_going && !keep_going();
    if (is_cancelled || Clock::now() >= deadline) {
      stop();
      drain(printed);
      return {is_cancelled ? Exchange::End::kCancelled : Exchange::End::kHung, 0, printed};
    }
  }
}

void ChildProcess::stop() {
  if (process_ < 0) return;
  ::kill(-process_, SIGKILL);
  ::kill(process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

}  // namespace qkv::check
