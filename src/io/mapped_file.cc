// Maps a file with mmap.
#include "src/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "src/core/sanitizers.h"

#if QKV_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace qkv {
namespace {

// The sanitizer takes a mapping for readable up to the end of its last page; a file ends where it ends.
void set_rest_of_page_poisoned([[maybe_unused]] std::span<const std::byte> bytes, [[maybe_unused]] bool poisoned) {
#if QKV_ADDRESS_SANITIZER
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t rest = (page - bytes.size() % page) % page;
  if (poisoned)
    ASAN_POISON_MEMORY_REGION(bytes.data() + bytes.size(), rest);
  else
    ASAN_UNPOISON_MEMORY_REGION(bytes.data() + bytes.size(), rest);
#endif
}

Status system_error() { return io_error(std::strerror(errno)); }

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: a FIFO without a writer must be an error, not a wait.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return system_error();
  struct stat info{};
  Status status = ::fstat(file, &info) == 0 ? Status() : system_error();
  if (status.is_ok() && !S_ISREG(info.st_mode))
    status =
        io_error(S_ISDIR(info.st_mode) ? "it is a directory" : "it is not a regular file (pipes cannot be mapped)");
  MappedFile mapped;
  if (status.is_ok() && info.st_size > 0) {
    const auto size = static_cast<std::size_t>(info.st_size);
    void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED)
      status = system_error();
    else
      mapped.bytes_ = {static_cast<const std::byte*>(memory), size};
    set_rest_of_page_poisoned(mapped.bytes_, true);
  }
  ::close(file);  // the mapping keeps the file
  if (!status.is_ok()) return status;
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  set_rest_of_page_poisoned(bytes_, false);
  // munmap takes void* though it only ends the mapping.
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace qkv
