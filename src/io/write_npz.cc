// Writes an npz: every tensor, metadata entry and list of strings is an array of its own.
#include <deque>
#include <string>

#include "src/core/status_macros.h"
#include "src/io/npy_array.h"
#include "src/io/stored_elements.h"
#include "src/io/tensor_sink.h"
#include "src/io/zip_writer.h"

namespace qkv {
namespace {

// The entries of an archive and the memory that they look at; a deque does not move what it holds.
class Entries {
 public:
  Status add(const NamedTensor& tensor) {
    const View<const void>& values = tensor.values;
    QKV_ASSIGN_OR_RETURN(const View<const void> packed, row_major(values, copies_.emplace_back()));
    add(tensor.name, format_npy_header(npy_descr(values.dtype), extents_of(values.shape)), bytes_of(packed));
    return {};
  }

  void add(const std::string& name, std::string head, std::span<const std::byte> body = {}) {
    const std::string& kept = heads_.emplace_back(std::move(head));
    entries_.push_back({name + ".npy", std::as_bytes(std::span(kept)), body});
  }

  const std::vector<ZipEntry>& list() const { return entries_; }

 private:
  std::deque<Tensor> copies_;
  std::deque<std::string> heads_;
  std::vector<ZipEntry> entries_;
};

}  // namespace

Status write_npz(const FileContents& contents, AtomicFile& file) {
  Entries entries;
  for (const NamedTensor& tensor : contents.tensors) QKV_RETURN_IF_ERROR(entries.add(tensor));
  for (const auto& [name, text] : contents.metadata) entries.add(name, format_npy_strings({text}, 0));
  for (const auto& [name, list] : contents.strings) entries.add(name, format_npy_strings(list, 1));
  return write_zip(entries.list(), file);
}

}  // namespace qkv
