// Workspaces, and which one a call takes.
#include "qkv/workspace.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "src/core/workspace_lease.h"

namespace qkv {
namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

Workspace::Workspace(void* memory, std::size_t bytes) : memory_(memory), bytes_(bytes), fixed_(true) {}

Workspace::~Workspace() { release(); }

Workspace::Workspace(Workspace&& other) noexcept { *this = std::move(other); }

Workspace& Workspace::operator=(Workspace&& other) noexcept {
  if (this == &other) return *this;
  release();
  memory_ = std::exchange(other.memory_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  wanted_ = std::exchange(other.wanted_, 0);
  fixed_ = std::exchange(other.fixed_, false);
  return *this;
}

void Workspace::release() {
  if (fixed_) return;
  std::free(memory_);
  memory_ = nullptr;
  bytes_ = 0;
}

void* Workspace::reserve(std::size_t bytes) {
  wanted_ = std::max(wanted_, bytes);
  if (fixed_) {
    void* start = memory_;
    std::size_t left = bytes_;
    return std::align(kAlignment, bytes, start, left);  // null where it does not fit
  }
  if (bytes > bytes_ || memory_ == nullptr) {
    release();
    const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment;
    memory_ = std::aligned_alloc(kAlignment, whole);
    bytes_ = memory_ == nullptr ? 0 : whole;
  }
  return memory_;
}

namespace {

// The workspace of a thread, and whether a call has it: an executor may run another call on the same thread in between.
struct OfThread {
  Workspace workspace;
  bool taken = false;
};
thread_local OfThread of_thread;

}  // namespace

WorkspaceLease::WorkspaceLease(const Execution& execution, std::string_view operation, std::size_t bytes) {
  Workspace* workspace = execution.workspace;
  if (workspace == nullptr && !of_thread.taken) {
    workspace = &of_thread.workspace;
    taken_ = &of_thread.taken;
    *taken_ = true;
  } else if (workspace == nullptr) {
    workspace = &own_;
  }
  workspace_ = workspace;
  memory_ = static_cast<char*>(workspace->reserve(bytes));
  if (memory_ != nullptr) return;
  const std::string text = std::string(operation) + ": ";
  status_ = workspace == execution.workspace && workspace->capacity() > 0
                ? invalid_argument(text + "the workspace holds " + std::to_string(workspace->capacity()) +
                                   " bytes, and this call needs " + std::to_string(bytes + kAlignment))
                : out_of_memory(text + "no memory for " + std::to_string(bytes) + " bytes of scratch");
}

Workspace WorkspaceLease::rest(std::size_t skipped) const {
  const std::size_t ahead = static_cast<std::size_t>(memory_ - static_cast<char*>(workspace_->memory_)) + skipped;
  return {memory_ + skipped, workspace_->bytes_ > ahead ? workspace_->bytes_ - ahead : 0};
}

bool WorkspaceLease::is_fixed() const { return workspace_->fixed_; }

std::size_t WorkspaceLease::capacity() const { return workspace_->bytes_; }

WorkspaceLease::~WorkspaceLease() {
  if (grown_ > 0 && workspace_ != &own_) workspace_->reserve(grown_);
  if (taken_ != nullptr) *taken_ = false;
}

}  // namespace qkv
