// A file's bytes, mapped read-only into memory.
#ifndef QKV_SRC_IO_MAPPED_FILE_H_
#define QKV_SRC_IO_MAPPED_FILE_H_

#include <cstddef>
#include <span>
#include <string>

#include "qkv/status.h"

namespace qkv {

class MappedFile {
 public:
  // Errors: kIo with the system's reason, without the path; also for what is not a regular file.
  static Result<MappedFile> open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;  // page-aligned; empty for an empty file
};

}  // namespace qkv

#endif  // QKV_SRC_IO_MAPPED_FILE_H_
