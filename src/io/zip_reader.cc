// Reads archives with libzip, after a look at what libzip would believe.
#include "src/io/zip_reader.h"

#include <zip.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/core/status_macros.h"
#include "src/io/text.h"

namespace qkv {
namespace {

// Deflate turns no byte into more than 1032 (a match of 258 from 2 bits), so a larger claim is a lie.
constexpr std::uint64_t kDeflateRatio = 1032;
// The smallest entry of a central directory, and where the search for its end record stops (a comment has 65535 bytes).
constexpr std::uint64_t kEntryBytes = 46;
constexpr std::size_t kTailBytes = 65536 + 22 + 20;

std::uint64_t little_endian(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t k = 8; k > 0; --k) value = value << 8 | static_cast<unsigned char>(bytes[at + k - 1]);
  return value;
}

// libzip allocates as many entries as a zip64 end record claims, before it looks at the first one.
Status check_entry_counts(std::span<const std::byte> archive) {
  const std::string_view bytes(reinterpret_cast<const char*>(archive.data()), archive.size());
  constexpr std::string_view kLocator("PK\x06\x07", 4), kRecord("PK\x06\x06", 4);
  constexpr std::size_t kLocatorBytes = 20, kRecordBytes = 56;
  for (std::size_t at = bytes.size() - std::min(bytes.size(), kTailBytes);
       (at = bytes.find(kLocator, at)) != std::string_view::npos; ++at) {
    if (bytes.size() - at < kLocatorBytes) break;
    const std::uint64_t record = little_endian(bytes, at + 8);
    if (record > bytes.size() || bytes.size() - record < kRecordBytes || !bytes.substr(record).starts_with(kRecord))
      continue;
    const std::uint64_t entries = std::max(little_endian(bytes, record + 24), little_endian(bytes, record + 32));
    if (entries > bytes.size() / kEntryBytes)
      return corrupt_file("the zip archive says that it has " + std::to_string(entries) +
                          " members, but the file has " + std::to_string(bytes.size()) + " bytes");
  }
  return {};
}

Status check_member(const zip_stat_t& member, std::uint64_t archive_bytes) {
  const std::string name = quoted_name(member.name);
  if (member.encryption_method != ZIP_EM_NONE) return unsupported("member " + name + " is encrypted");
  if (member.comp_method != ZIP_CM_STORE && member.comp_method != ZIP_CM_DEFLATE)
    return unsupported("member " + name + " is compressed by method " + std::to_string(member.comp_method) +
                       "; expected stored or deflated");
  const std::uint64_t ratio = member.comp_method == ZIP_CM_STORE ? 1 : kDeflateRatio;
  if (member.comp_size <= archive_bytes && member.size <= member.comp_size * ratio) return {};
  return corrupt_file("member " + name + " says that it has " + std::to_string(member.size) + " bytes in " +
                      std::to_string(member.comp_size) + " stored ones, which the file (" +
                      std::to_string(archive_bytes) + " bytes) cannot hold");
}

Status zip_failure(const char* reason) { return corrupt_file(std::string("zip archive: ") + reason); }

}  // namespace

void ZipStream::Close::operator()(zip_file* file) const { zip_fclose(file); }

Status ZipStream::read(std::span<std::byte> to) {
  while (!to.empty()) {
    const zip_int64_t got = zip_fread(file_.get(), to.data(), to.size());
    if (got < 0) return zip_failure(zip_file_strerror(file_.get()));
    if (got == 0) return corrupt_file("zip archive: a member is shorter than it says");
    to = to.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

Status ZipStream::expect_end() {
  std::byte more{};
  const zip_int64_t got = zip_fread(file_.get(), &more, 1);
  if (got < 0) return zip_failure(zip_file_strerror(file_.get()));
  return got == 0 ? Status() : corrupt_file("zip archive: a member is longer than it says");
}

void ZipReader::Discard::operator()(zip* archive) const { zip_discard(archive); }

Result<ZipReader> ZipReader::open(std::span<const std::byte> bytes) {
  QKV_RETURN_IF_ERROR(check_entry_counts(bytes));
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* archive = source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive == nullptr && source != nullptr) zip_source_free(source);
  const Status status = archive == nullptr ? zip_failure(zip_error_strerror(&error)) : Status();
  zip_error_fini(&error);
  QKV_RETURN_IF_ERROR(status);
  ZipReader reader(archive);
  QKV_RETURN_IF_ERROR(reader.list_members(bytes.size()));
  return reader;
}

Status ZipReader::list_members(std::uint64_t archive_bytes) {
  const auto count = static_cast<zip_uint64_t>(std::max<zip_int64_t>(0, zip_get_num_entries(archive_.get(), 0)));
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  for (zip_uint64_t index = 0; index < count; ++index) {
    zip_stat_t member;
    zip_stat_init(&member);
    if (zip_stat_index(archive_.get(), index, 0, &member) != 0 || (member.valid & kNeeded) != kNeeded)
      return zip_failure(zip_strerror(archive_.get()));
    QKV_RETURN_IF_ERROR(check_member(member, archive_bytes));
    members_.push_back({member.name, member.size});
  }
  return {};
}

Result<ZipStream> ZipReader::stream(std::size_t member) const {
  zip_file_t* file = zip_fopen_index(archive_.get(), member, 0);
  if (file == nullptr) return zip_failure(zip_strerror(archive_.get()));
  return ZipStream(file);
}

}  // namespace qkv
