// A file that appears under its name when it is whole, or not at all.
#ifndef QKV_SRC_IO_ATOMIC_FILE_H_
#define QKV_SRC_IO_ATOMIC_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "qkv/status.h"

namespace qkv {

// Where the file system allows it (O_TMPFILE: ext4, xfs, btrfs, tmpfs) the unfinished file has no name, so that not
// even SIGKILL or a power cut leaves one. Elsewhere it is a hidden file beside the target, which the destructor
// removes, and which a signal handler removes by remove_unfinished_files().
//
// A target that exists keeps its permissions and, if it is a link, is replaced where the link points to. A target that
// is no regular file (/dev/null, /dev/stdout, a pipe) has nothing to keep and is written directly. Errors: kIo with the
// system's reason, without the path.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  // Writes at the position, which moves on.
  Status write(const void* data, std::size_t bytes);
  Status write(std::string_view text) { return write(text.data(), text.size()); }
  Status seek(std::uint64_t position);  // from the start
  std::uint64_t position() const { return position_; }

  // Flushes to the disk and gives the file its name. Nothing may be written afterwards.
  Status commit();

  // Whether the unfinished file has a name (tests only).
  bool has_name() const { return slot_ >= 0; }

 private:
  AtomicFile(int file, std::string target) : file_(file), target_(std::move(target)) {}
  static Result<AtomicFile> create_replacing(const std::string& target, unsigned mode);
  Status make_named_file(unsigned mode);
  bool link_nameless(const char* name) const;
  Status give_name_beside();
  void abandon();

  int file_ = -1;
  int slot_ = -1;  // of the unfinished name in the table that the signal handler reads
  bool is_direct_ = false;
  std::string target_;
  std::uint64_t position_ = 0;
};

// Removes the unfinished files of this process. Async-signal-safe: for a handler that ends the process afterwards.
void remove_unfinished_files() noexcept;

// For tests: pretends that the file system has no O_TMPFILE.
void set_nameless_files_allowed(bool allowed);

}  // namespace qkv

#endif  // QKV_SRC_IO_ATOMIC_FILE_H_
