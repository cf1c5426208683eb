// memfd, and a mapping that follows its size.
#include "src/check/library/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace qkv::check {

Arena::~Arena() {
  if (memory_ != nullptr) ::munmap(memory_, size_);
}

Status Arena::reserve(std::size_t tensor_bytes) {
  const std::size_t needed = kControlBytes + tensor_bytes;
  if (needed <= size_) return {};
  const auto failed = [&](const char* what) {
    const std::string reason =
        std::string("check: no memory to share with the library's process: ") + what + ": " + std::strerror(errno);
    return errno == ENOMEM || errno == EFBIG || errno == ENOSPC ? out_of_memory(reason) : io_error(reason);
  };
  if (!file_.is_open()) {
    file_ = moved_up(Descriptor(::memfd_create("qkv-check", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
    if (!file_.is_open()) return failed("memfd_create");
    // A child that made it shorter would end us with SIGBUS.
    if (::fcntl(file_.number(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) return failed("F_SEAL_SHRINK");
  }
  const std::size_t size = std::max(needed, 2 * size_);
  if (::ftruncate(file_.number(), static_cast<off_t>(size)) != 0) return failed("ftruncate");
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
  if (memory == MAP_FAILED) return failed("mmap");
  if (memory_ != nullptr) ::munmap(memory_, size_);
  memory_ = memory;
  size_ = size;
  return {};
}

}  // namespace qkv::check
