// Checks what is to be written, writes it beside the target, and renames.
#include <set>
#include <span>
#include <utility>

#include "src/core/status_macros.h"
#include "src/io/atomic_file.h"
#include "src/io/tensor_file.h"
#include "src/io/tensor_sink.h"
#include "src/io/text.h"

namespace qkv {
namespace {

Status check_text(std::string_view what, const std::string& text) {
  if (!first_invalid_utf8(text)) return {};
  return invalid_argument(std::string(what) + " " + quoted_name(text) + " is not UTF-8");
}

// Names share one space: an npz keeps tensors, metadata and strings side by side.
Status check_name(const std::string& name, std::set<std::string>& taken) {
  QKV_RETURN_IF_ERROR(check_text("the name", name));
  if (name.empty() || name == "__metadata__" || name.find('\0') != std::string::npos)
    return invalid_argument(quoted_name(name) + " cannot be a name in a file");
  if (!taken.insert(name).second) return invalid_argument("the name " + quoted_name(name) + " comes twice");
  return {};
}

Status check_tensor(const NamedTensor& tensor) {
  const View<const void>& view = tensor.values;
  if (element_count(view.shape) < 0 || (view.data == nullptr && (element_count(view.shape) > 0)))
    return invalid_argument("tensor " + quoted_name(tensor.name) + " is absent or has a negative extent");
  return {};
}

Status check_contents(const FileContents& contents) {
  std::set<std::string> taken;
  for (const NamedTensor& tensor : contents.tensors) {
    QKV_RETURN_IF_ERROR(check_name(tensor.name, taken));
    QKV_RETURN_IF_ERROR(check_tensor(tensor));
  }
  for (const auto& [name, text] : contents.metadata) {
    QKV_RETURN_IF_ERROR(check_name(name, taken));
    QKV_RETURN_IF_ERROR(check_text("the metadata", text));
  }
  for (const auto& [name, list] : contents.strings) {
    QKV_RETURN_IF_ERROR(check_name(name, taken));
    for (const std::string& text : list) QKV_RETURN_IF_ERROR(check_text("the string", text));
  }
  return {};
}

Status write_format(FileFormat format, const FileContents& contents, AtomicFile& file) {
  switch (format) {
    case FileFormat::kNpz: return write_npz(contents, file);
    case FileFormat::kNpy: return write_npy(contents, file);
    case FileFormat::kSafetensors: break;
  }
  return write_safetensors(contents, file);
}

Status write_whole(const std::string& path, FileFormat format, const FileContents& contents) {
  QKV_RETURN_IF_ERROR(check_contents(contents));
  QKV_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  QKV_RETURN_IF_ERROR(write_format(format, contents, file));
  return file.commit();
}

}  // namespace

Status write_tensor_file(const std::string& path, FileFormat format, const FileContents& contents) {
  const Status status = write_whole(path, format, contents);
  return status.is_ok() ? status : Status(status.code(), "cannot write " + path + ": " + status.message());
}

Status write_tensor_file(const std::string& path, const FileContents& contents) {
  const Result<FileFormat> format = format_of_name(path);
  if (!format.is_ok()) return {format.code(), "cannot write " + path + ": " + format.status().message()};
  return write_tensor_file(path, *format, contents);
}

}  // namespace qkv
