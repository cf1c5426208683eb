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

 private:
  Workspace own_;  // where the thread's workspace is taken by a call further up the stack
  bool* taken_ = nullptr;
  char* memory_ = nullptr;
  Status status_;
};

}  // namespace qkv

#endif  // QKV_SRC_CORE_WORKSPACE_LEASE_H_
