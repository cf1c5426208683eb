// Scratch memory that calls reuse, so that a warm call allocates nothing.
#ifndef QKV_WORKSPACE_H_
#define QKV_WORKSPACE_H_

#include <cstddef>

namespace qkv {
class WorkspaceLease;  // the library's own: named before what is exported begins
}

#pragma GCC visibility push(default)
namespace qkv {

// Memory that one call at a time uses and leaves to the next one. Without one (Execution::workspace is null) a call
// uses the workspace that its calling thread keeps, so calls from several threads never meet.
//
// Errors: none here; a call whose fixed memory is too small answers kInvalidArgument with the bytes that it needs, and
//   Report::scratch_bytes is what a call used.
// Cost: grows to the largest call so far, and keeps that until release() or its end.
class Workspace {
 public:
  Workspace() = default;
  // Uses the caller's memory and never more. Constraint: `memory` outlives the workspace; any alignment.
  Workspace(void* memory, std::size_t bytes);
  ~Workspace();
  Workspace(Workspace&& other) noexcept;
  Workspace& operator=(Workspace&& other) noexcept;

  std::size_t capacity() const { return bytes_; }
  std::size_t wanted() const { return wanted_; }  // the most that a call has asked for, whether it was there or not
  void release();                                 // gives grown memory back

  // 64-byte aligned memory of at least `bytes`, uninitialised; null if there is not that much. What was reserved before
  // is no longer valid. For the library's own use.
  void* reserve(std::size_t bytes);

 private:
  friend class WorkspaceLease;
  void* memory_ = nullptr;  // as allocated or given
  std::size_t bytes_ = 0;
  std::size_t wanted_ = 0;
  bool fixed_ = false;  // the caller's memory
};

}  // namespace qkv
#pragma GCC visibility pop

#endif  // QKV_WORKSPACE_H_
