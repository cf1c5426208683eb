// What a crash in the child touched: written into the control block by a signal handler, before the process ends.
#ifndef QKV_SRC_CHECK_LIBRARY_CHILD_FAULTS_H_
#define QKV_SRC_CHECK_LIBRARY_CHILD_FAULTS_H_

#include <cstddef>

#include "src/check/library/protocol.h"

namespace qkv::check {

// Address space on each side of a tensor that nobody may touch: an index that is a whole batch off still lands there.
inline constexpr std::size_t kGuardBytes = std::size_t{16} << 20;

// Where the tensors of a call lie.
class WatchedRegions {
 public:
  // Constraint: kMaxRegions at most.
  void add(const unsigned char* first, const unsigned char* pages, const Region& region) {
    list_[count_++] = {first, first + region.bytes, pages - kGuardBytes, pages + region.page_bytes + kGuardBytes};
  }
  // Fills place, region and byte. Safe in a signal handler.
  void locate(const unsigned char* address, Fault& fault) const;

 private:
  struct Watched {
    const unsigned char *begin, *end;              // of the tensor
    const unsigned char *space_begin, *space_end;  // with what is guarded
  };
  Watched list_[kMaxRegions] = {};
  std::uint32_t count_ = 0;
};

// Handlers for SIGSEGV and SIGBUS, on a stack of their own. To be called once, from main().
void catch_faults(Control& control);

// What faults are to be located in; null: the function is not running.
void watch(const WatchedRegions* regions);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_LIBRARY_CHILD_FAULTS_H_
