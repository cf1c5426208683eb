// Lets libzip write through AtomicFile instead of its own temporary file, which a signal would leave behind.
#include "src/io/zip_writer.h"

#include <zip.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

namespace qkv {
namespace {

constexpr zip_uint16_t kEarliestDate = 1 << 5 | 1;  // 1980-01-01 as MS-DOS counts

// An archive that does not exist yet and is written into an AtomicFile.
class Target {
 public:
  explicit Target(AtomicFile& file) : file_(file) { zip_error_init(&error_); }
  const Status& status() const { return status_; }

  zip_int64_t answer(void* data, zip_uint64_t bytes, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_WRITABLE;
      case ZIP_SOURCE_STAT: zip_error_set(&error_, ZIP_ER_READ, ENOENT); return -1;
      case ZIP_SOURCE_ERROR: return zip_error_to_data(&error_, data, bytes);
      case ZIP_SOURCE_WRITE: return checked(file_.write(data, bytes)) ? static_cast<zip_int64_t>(bytes) : -1;
      case ZIP_SOURCE_SEEK_WRITE: return seek(data, bytes);
      case ZIP_SOURCE_TELL_WRITE: return static_cast<zip_int64_t>(file_.position());
      case ZIP_SOURCE_BEGIN_WRITE:
      case ZIP_SOURCE_COMMIT_WRITE:
      case ZIP_SOURCE_ROLLBACK_WRITE:
      case ZIP_SOURCE_FREE: return 0;
      default: zip_error_set(&error_, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
  }

 private:
  bool checked(Status status) {
    if (status.is_ok()) return true;
    zip_error_set(&error_, ZIP_ER_WRITE, 0);
    status_ = std::move(status);
    return false;
  }

  zip_int64_t seek(void* data, zip_uint64_t bytes) {
    const auto* to = ZIP_SOURCE_GET_ARGS(zip_source_args_seek_t, data, bytes, &error_);
    if (to == nullptr) return -1;
    // libzip goes back to headers whose checksum it did not know, and on to the end again.
    end_ = std::max(end_, file_.position());
    const std::uint64_t origin = to->whence == SEEK_SET ? 0 : to->whence == SEEK_CUR ? file_.position() : end_;
    return checked(file_.seek(origin + static_cast<std::uint64_t>(to->offset))) ? 0 : -1;
  }

  AtomicFile& file_;
  zip_error_t error_;
  std::uint64_t end_ = 0;
  Status status_;
};

zip_int64_t call_target(void* target, void* data, zip_uint64_t bytes, zip_source_cmd_t command) {
  return static_cast<Target*>(target)->answer(data, bytes, command);
}

bool add_entry(zip_t* archive, const ZipEntry& entry) {
  // libzip takes memory without const and only reads it.
  const auto fragment = [](std::span<const std::byte> bytes) {
    return zip_buffer_fragment_t{reinterpret_cast<zip_uint8_t*>(const_cast<std::byte*>(bytes.data())), bytes.size()};
  };
  const std::array<zip_buffer_fragment_t, 2> fragments{fragment(entry.head), fragment(entry.body)};
  zip_source_t* source = zip_source_buffer_fragment(archive, fragments.data(), fragments.size(), 0);
  if (source == nullptr) return false;
  const zip_int64_t index = zip_file_add(archive, entry.name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    return false;
  }
  const auto added = static_cast<zip_uint64_t>(index);
  return zip_set_file_compression(archive, added, ZIP_CM_STORE, 0) == 0 &&
         zip_file_set_dostime(archive, added, 0, kEarliestDate, 0) == 0;
}

// Null if libzip has no memory.
zip_t* open_archive(Target& target) {
  zip_source_t* source = zip_source_function_create(call_target, &target, nullptr);
  if (source == nullptr) return nullptr;
  zip_t* archive = zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  if (archive == nullptr) zip_source_free(source);
  return archive;
}

}  // namespace

Status write_zip(const std::vector<ZipEntry>& entries, AtomicFile& file) {
  // libzip removes an archive without members instead of writing its end record.
  if (entries.empty()) return file.write(std::string("PK\x05\x06", 4).append(18, '\0'));
  Target target(file);
  zip_t* archive = open_archive(target);
  if (archive == nullptr) return out_of_memory("zip archive: libzip cannot begin one");
  bool ok = true;
  for (const ZipEntry& entry : entries) ok = ok && add_entry(archive, entry);
  if (ok && zip_close(archive) == 0) return {};
  const std::string reason = zip_strerror(archive);
  zip_discard(archive);
  return target.status().is_ok() ? io_error("zip archive: " + reason) : target.status();
}

}  // namespace qkv
