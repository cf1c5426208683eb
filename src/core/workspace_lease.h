// The scratch of one call, from the workspace that its Execution means.
#ifndef QKV_SRC_CORE_WORKSPACE_LEASE_H_
#define QKV_SRC_CORE_WORKSPACE_LEASE_H_

#include <cstddef>
#include <string_view>

#include "qkv/options.h"
#include "qkv/status.h"

namespace qkv {

// Holds `bytes` of 64-byte aligned, uninitialised scratch until its end, or says in status() why not.
// `operation` opens the message: "attention_forward".
class WorkspaceLease {
 public:
  WorkspaceLease(const Execution& execution, std::string_view operation, std::size_t bytes);
  ~WorkspaceLease();
  WorkspaceLease(const WorkspaceLease&) = delete;
  WorkspaceLease& operator=(const WorkspaceLease&) = delete;

  const Status& status() const { return status_; }
  char* memory() const { return memory_; }

  // What the workspace has behind `skipped` bytes of the lease, to lend to a call further down. Multiples of 64 keep it
  // aligned. Valid while the lease lives. Constraint: status() is ok.
  Workspace rest(std::size_t skipped) const;
  bool is_fixed() const;  // the workspace is the caller's memory and cannot grow
  std::size_t capacity() const;
  // Grows the workspace to `bytes` when the lease ends, so that the next call finds as much.
  void grow_at_end(std::size_t bytes) { grown_ = bytes; }

 private:
  Workspace own_;  // where the thread's workspace is taken by a call further up the stack
  bool* taken_ = nullptr;
  Workspace* workspace_ = nullptr;
  std::size_t grown_ = 0;
  char* memory_ = nullptr;
  Status status_;
};

}  // namespace qkv

#endif  // QKV_SRC_CORE_WORKSPACE_LEASE_H_
