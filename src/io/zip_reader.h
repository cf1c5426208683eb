// A zip archive in memory, read member by member; no claim of it is believed beyond what its bytes can hold.
#ifndef QKV_SRC_IO_ZIP_READER_H_
#define QKV_SRC_IO_ZIP_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "qkv/status.h"

struct zip;
struct zip_file;

namespace qkv {

struct ZipMember {
  std::string name;
  std::uint64_t size = 0;  // uncompressed, as the archive claims; at most 1032 times what is stored
};

// Reads one member from its start. Errors: kCorruptFile where the archive is cut short or a checksum does not match.
class ZipStream {
 public:
  Status read(std::span<std::byte> to);  // all of it
  Status expect_end();                   // checks the checksum too

 private:
  friend class ZipReader;
  struct Close {
    void operator()(zip_file* file) const;
  };
  explicit ZipStream(zip_file* file) : file_(file) {}
  std::unique_ptr<zip_file, Close> file_;
};

class ZipReader {
 public:
  // Constraint: `bytes` outlive the reader. Errors: kCorruptFile; kUnsupported (encryption, methods other than stored
  // and deflated).
  static Result<ZipReader> open(std::span<const std::byte> bytes);

  const std::vector<ZipMember>& members() const { return members_; }
  Result<ZipStream> stream(std::size_t member) const;

 private:
  struct Discard {
    void operator()(zip* archive) const;
  };
  explicit ZipReader(zip* archive) : archive_(archive) {}
  Status list_members(std::uint64_t archive_bytes);
  std::unique_ptr<zip, Discard> archive_;
  std::vector<ZipMember> members_;
};

}  // namespace qkv

#endif  // QKV_SRC_IO_ZIP_READER_H_
