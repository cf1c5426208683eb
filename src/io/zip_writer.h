// Writes a zip archive of stored members into an unfinished file.
#ifndef QKV_SRC_IO_ZIP_WRITER_H_
#define QKV_SRC_IO_ZIP_WRITER_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "qkv/status.h"
#include "src/io/atomic_file.h"

namespace qkv {

struct ZipEntry {
  std::string name;
  std::span<const std::byte> head, body;  // the member is one after the other
};

// Every member is dated 1980-01-01, so that the same contents give the same bytes. Errors: kIo, kOutOfMemory.
Status write_zip(const std::vector<ZipEntry>& entries, AtomicFile& file);

}  // namespace qkv

#endif  // QKV_SRC_IO_ZIP_WRITER_H_
