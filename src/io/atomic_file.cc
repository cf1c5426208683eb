// Writes beside and renames.
#include "src/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "src/core/status_macros.h"
#include "src/io/unfinished_names.h"

namespace qkv {
namespace {

constexpr unsigned kPermissions = 07777;
constexpr unsigned kNewFile = 0666;  // before the umask
std::atomic<bool> nameless_allowed{true};

Status system_error() { return io_error(std::strerror(errno)); }

Status too_many() { return io_error("its name is too long, or too many files are being written"); }

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Where a link leads; the path itself if it is none or leads nowhere.
std::string resolved(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string target(real);
  std::free(real);
  return target;
}

// The name by which an open file can be linked (open(2), O_TMPFILE).
std::string proc_name(int file) { return "/proc/self/fd/" + std::to_string(file); }

// A file without a name, or -1 where the file system or a missing /proc does not allow it.
int open_nameless(const std::string& folder) {
#ifdef O_TMPFILE
  if (!nameless_allowed) return -1;
  const int file = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kNewFile);
  if (file >= 0 && ::access(proc_name(file).c_str(), F_OK) == 0) return file;
  if (file >= 0) ::close(file);
#else
  static_cast<void>(folder);
#endif
  return -1;
}

// A hidden name beside the target that no other call of any process on this machine has.
std::string name_beside(const std::string& target) {
  static std::atomic<unsigned> counter{0};
  const std::size_t start = target.find_last_of('/') + 1;                        // npos + 1 is 0
  std::string name = target.substr(0, start) + "." + target.substr(start, 200);  // the name's limit is 255 bytes
  // The time, because a name that a killed process left behind may carry our process number.
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return name + ".qkv-" + std::to_string(::getpid()) + "-" + std::to_string(counter++) + "-" + std::to_string(now);
}

}  // namespace

void set_nameless_files_allowed(bool allowed) { nameless_allowed = allowed; }

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  const std::string target = resolved(path);
  struct stat info{};
  if (::stat(target.c_str(), &info) != 0) return create_replacing(target, 0);
  if (!S_ISREG(info.st_mode)) {
    const int file = ::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);  // a directory is an error here
    if (file < 0) return system_error();
    AtomicFile direct(file, target);
    direct.is_direct_ = true;
    return direct;
  }
  // Renaming would replace a file that its owner has write-protected.
  if (::access(target.c_str(), W_OK) != 0) return system_error();
  return create_replacing(target, info.st_mode & kPermissions);
}

Result<AtomicFile> AtomicFile::create_replacing(const std::string& target, unsigned mode) {
  AtomicFile unfinished(open_nameless(folder_of(target)), target);
  if (unfinished.file_ < 0) QKV_RETURN_IF_ERROR(unfinished.make_named_file(kNewFile));
  if (mode != 0 && ::fchmod(unfinished.file_, mode) != 0) return system_error();
  return unfinished;
}

Status AtomicFile::make_named_file(unsigned mode) {
  slot_ = register_unfinished(name_beside(target_));
  if (slot_ < 0) return too_many();
  file_ = ::open(unfinished_name(slot_), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
  if (file_ >= 0) return {};
  const Status status = system_error();
  forget_unfinished(std::exchange(slot_, -1));  // whatever has that name is not ours to remove
  return status;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      slot_(std::exchange(other.slot_, -1)),
      is_direct_(other.is_direct_),
      target_(std::move(other.target_)),
      position_(other.position_) {}

AtomicFile::~AtomicFile() { abandon(); }

void AtomicFile::abandon() {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
  if (slot_ < 0) return;
  ::unlink(unfinished_name(slot_));
  forget_unfinished(std::exchange(slot_, -1));
}

Status AtomicFile::write(const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(file_, next, bytes);  // may be less than asked for: the system's limit is 2 GiB
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error();
    next += written;
    bytes -= static_cast<std::size_t>(written);
    position_ += static_cast<std::uint64_t>(written);
  }
  return {};
}

Status AtomicFile::seek(std::uint64_t position) {
  if (position == position_) return {};  // so that a pipe, which cannot seek, serves sequential writers
  if (::lseek(file_, static_cast<off_t>(position), SEEK_SET) < 0) return system_error();
  position_ = position;
  return {};
}

bool AtomicFile::link_nameless(const char* name) const {
  return ::linkat(AT_FDCWD, proc_name(file_).c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

Status AtomicFile::commit() {
  if (is_direct_) return ::close(std::exchange(file_, -1)) == 0 ? Status() : system_error();
  // Without it a power cut could leave the new name with none of the content.
  if (::fsync(file_) != 0) return system_error();
  if (slot_ < 0) {
    if (link_nameless(target_.c_str())) return {};
    QKV_RETURN_IF_ERROR(give_name_beside());  // the target exists, and linking does not replace
  }
  if (std::rename(unfinished_name(slot_), target_.c_str()) != 0) return system_error();
  forget_unfinished(std::exchange(slot_, -1));
  return {};
}

Status AtomicFile::give_name_beside() {
  slot_ = register_unfinished(name_beside(target_));
  if (slot_ < 0) return too_many();
  if (link_nameless(unfinished_name(slot_))) return {};
  const Status status = system_error();
  forget_unfinished(std::exchange(slot_, -1));
  return status;
}

}  // namespace qkv
