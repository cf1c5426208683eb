// A process that runs a library's function, and how it ended.
#ifndef QKV_SRC_CHECK_LIBRARY_CHILD_PROCESS_H_
#define QKV_SRC_CHECK_LIBRARY_CHILD_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "qkv/status.h"
#include "src/check/library/descriptor.h"

namespace qkv::check {

// How an order went.
struct Exchange {
  enum class End { kReplied, kHung, kCancelled, kSignalled, kExited };
  End end = End::kReplied;
  int number = 0;       // of the signal, or the exit code
  std::string printed;  // the end of what the child wrote to its standard streams, since the order
};

class ChildProcess {
 public:
  // Writes the program to memory, from where start() runs it. Errors: kIo.
  static Result<ChildProcess> prepare();
  ~ChildProcess() { stop(); }
  ChildProcess(ChildProcess&& other) noexcept
      : program_(std::move(other.program_)),
        socket_(std::move(other.socket_)),
        output_(std::move(other.output_)),
        process_(std::exchange(other.process_, -1)),
        order_(other.order_) {}
  ChildProcess& operator=(ChildProcess&&) = delete;

  bool is_running() const { return process_ >= 0; }
  // Errors: kIo.
  Status start(int arena);
  // Tells the child that the control block holds an order, and waits. Whatever does not reply is stopped.
  // Constraint: is_running().
  Exchange give_order(std::chrono::milliseconds limit, const std::function<bool()>& keep_going);
  void stop();

 private:
  ChildProcess() = default;
  // Appends what has been printed; false: the streams are closed.
  bool drain(std::string& printed) const;
  // Set once the child has ended.
  std::optional<Exchange> end_of_child();

  Descriptor program_, socket_, output_;
  pid_t process_ = -1;
  unsigned char order_ = 0;  // so that a reply to an earlier order is not taken for one to this
};

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LIBRARY_CHILD_PROCESS_H_
