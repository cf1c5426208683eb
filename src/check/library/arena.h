// Memory that the checker and the child process share.
#ifndef QKV_SRC_CHECK_LIBRARY_ARENA_H_
#define QKV_SRC_CHECK_LIBRARY_ARENA_H_

#include <cstddef>

#include "qkv/status.h"
#include "src/check/library/descriptor.h"
#include "src/check/library/protocol.h"

namespace qkv::check {

// A file in memory, mapped; it grows and never shrinks. The control block comes first, the tensors after it.
class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Makes it large enough for the control block and `tensor_bytes` behind it; addresses change, contents stay.
  // Errors: kOutOfMemory, kIo.
  Status reserve(std::size_t tensor_bytes);

  int descriptor() const { return file_.number(); }
  // Constraint: after reserve().
  Control& control() const { return *static_cast<Control*>(memory_); }
  unsigned char* at(std::size_t byte) const { return static_cast<unsigned char*>(memory_) + byte; }

 private:
  Descriptor file_;
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LIBRARY_ARENA_H_
