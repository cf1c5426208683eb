// Tensors in files, whatever the format: what a file holds, views of it, and files written whole or not at all.
#ifndef QKV_SRC_IO_TENSOR_FILE_H_
#define QKV_SRC_IO_TENSOR_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/status.h"
#include "qkv/tensor.h"

namespace qkv {

class TensorSource;

enum class FileFormat : std::uint8_t { kSafetensors, kNpz, kNpy };

std::string_view to_string(FileFormat format);  // "safetensors" "npz" "npy"

// The format that the end of a name asks for. Errors: kInvalidArgument, naming the endings that exist.
Result<FileFormat> format_of_name(std::string_view path);

using Metadata = std::map<std::string, std::string>;

// A tensor as the file describes it; nothing of its data has been read.
struct StoredTensor {
  std::string name;                 // in an npz without ".npy"; in an npy the file's name without directory and ending
  std::string dtype;                // as the file spells it: "F32", "F8_E4M3", "<f4", "<U12"
  std::optional<DType> element;     // what view() gives; absent if it would refuse
  std::vector<std::int64_t> shape;  // any rank; view() refuses more than kMaxRank
  std::uint64_t bytes = 0;          // of data in the file, uncompressed
};

// A file open for reading. Its views live as long as it does, moved or not. For one thread at a time.
//
// Numerics: elements are given as stored, bit for bit; nothing is converted but the byte order.
// Cost: safetensors and npy are memory-mapped: open() reads the header, and view() costs nothing where alignment and
//   byte order allow. Otherwise view() makes one copy and keeps it. An npz member is always such a copy. Bool tensors
//   are read once, to see that they hold 0 and 1 only. No allocation exceeds what the file's real size can hold
//   (deflated: 1032 times its compressed bytes).
// Constraint: nobody shortens the file while it is open (the system would end the process by SIGBUS).
class TensorFile {
 public:
  // Tells the format by content, not by name. Errors: kIo; kCorruptFile (the message says what was expected and found);
  // kUnsupported for a file of another kind.
  static Result<TensorFile> open(const std::string& path);

  TensorFile(TensorFile&&) noexcept;
  TensorFile& operator=(TensorFile&&) noexcept;
  ~TensorFile();

  const std::string& path() const { return path_; }
  FileFormat format() const { return format_; }
  const std::vector<StoredTensor>& tensors() const;       // in the file's order
  const StoredTensor* find(std::string_view name) const;  // null if there is none
  // safetensors: __metadata__. npz: its zero-dimensional unicode arrays. npy: nothing.
  const Metadata& metadata() const;

  // Errors: kInvalidArgument (no such tensor; the message lists those that exist), kUnsupported (its type, its rank),
  // kCorruptFile, kOutOfMemory.
  Result<View<const void>> view(std::string_view name);

  // A list of strings, UTF-8. safetensors: a metadata entry that is a JSON list of strings. npz and npy: a unicode
  // array ('<U12') of rank 0 or 1. Errors: as view().
  Result<std::vector<std::string>> strings(std::string_view name);

 private:
  TensorFile(std::string path, FileFormat format, std::unique_ptr<TensorSource> source);
  std::string path_;
  FileFormat format_;
  std::unique_ptr<TensorSource> source_;
};

struct NamedTensor {
  std::string name;
  View<const void> values;  // any strides; written in row-major order
};

// What write_tensor_file() writes. TensorFile gives all of it back.
struct FileContents {
  std::vector<NamedTensor> tensors;
  Metadata metadata;                                        // none in an npy
  std::map<std::string, std::vector<std::string>> strings;  // lists such as "tokens"; none in an npy
};

// Writes beside `path` and renames: whatever happens, `path` holds its old content or all of the new.
// Errors: kIo (disk full, no permission), kInvalidArgument (a name twice, an absent view, text that is not UTF-8, more
//   than one tensor in an npy).
// Cost: one copy of a tensor that is not contiguous; the data starts 64-byte aligned in safetensors and npy.
Status write_tensor_file(const std::string& path, FileFormat format, const FileContents& contents);
Status write_tensor_file(const std::string& path, const FileContents& contents);  // the format that `path` ends in

}  // namespace qkv

#endif  // QKV_SRC_IO_TENSOR_FILE_H_
