// Opens a file by its content, and puts the path and the tensor's name into every message.
#include "src/io/tensor_file.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "src/core/status_macros.h"
#include "src/io/tensor_source.h"
#include "src/io/text.h"

namespace qkv {
namespace {

struct FormatRow {
  FileFormat format;
  std::string_view name;
  std::string_view ending;
};
constexpr FormatRow kFormats[] = {
    {FileFormat::kSafetensors, "safetensors", ".safetensors"},
    {FileFormat::kNpz, "npz", ".npz"},
    {FileFormat::kNpy, "npy", ".npy"},
};

Status with_path(const std::string& path, const Status& status) {
  return {status.code(), "cannot read " + (path.empty() ? "''" : path) + ": " + status.message()};
}

bool starts_with(std::span<const std::byte> bytes, std::string_view magic, std::size_t at = 0) {
  return bytes.size() >= at + magic.size() &&
         std::equal(magic.begin(), magic.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

// ".npz" and ".NPZ" are the same ending.
bool ends_in(std::string_view path, std::string_view ending) {
  return path.size() >= ending.size() &&
         std::equal(ending.begin(), ending.end(), path.end() - static_cast<std::ptrdiff_t>(ending.size()),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

// What the first bytes say; where they say nothing, what the name says.
Result<FileFormat> format_of(std::span<const std::byte> bytes, const std::string& path) {
  if (starts_with(bytes, "\x93NUMPY")) return FileFormat::kNpy;
  // A zip file starts with a member or, if it has none, with its end record.
  if (starts_with(bytes, "PK\x03\x04") || starts_with(bytes, "PK\x05\x06")) return FileFormat::kNpz;
  if (ends_in(path, ".npy"))
    return corrupt_file("expected an npy file, which starts with \\x93NUMPY; this one does not");
  if (ends_in(path, ".npz")) return corrupt_file("expected an npz file, which is a zip archive; this one is none");
  if (ends_in(path, ".safetensors") || starts_with(bytes, "{", 8)) return FileFormat::kSafetensors;
  return unsupported("expected a safetensors, npz or npy file; its content is none of them");
}

// "d/q.npy" holds the tensor "q".
std::string stem(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  return ends_in(name, ".npy") ? name.substr(0, name.size() - 4) : name;
}

Result<std::unique_ptr<TensorSource>> open_source(MappedFile file, FileFormat format, const std::string& path) {
  switch (format) {
    case FileFormat::kNpz: return open_npz(std::move(file));
    case FileFormat::kNpy: return open_npy(std::move(file), stem(path));
    case FileFormat::kSafetensors: break;
  }
  return open_safetensors(std::move(file));
}

std::string names_of(const std::vector<StoredTensor>& tensors) {
  constexpr std::size_t kShown = 20;  // a message stays on two lines
  std::string names;
  for (std::size_t i = 0; i < std::min(tensors.size(), kShown); ++i)
    names.append(i > 0 ? " " : "").append(quoted_name(tensors[i].name));
  if (tensors.size() > kShown) names += " and " + std::to_string(tensors.size() - kShown) + " more";
  return names.empty() ? "no tensor at all" : names;
}

Status check_viewable(const TensorSource& source, std::size_t index) {
  const StoredTensor& tensor = source.tensors()[index];
  if (!tensor.element)
    return unsupported("tensor " + quoted_name(tensor.name) + " is " + quoted_name(tensor.dtype) + ": " +
                       source.refusal(index));
  if (tensor.shape.size() <= static_cast<std::size_t>(kMaxRank)) return {};
  return unsupported("tensor " + quoted_name(tensor.name) + " " + shape_to_string(tensor.shape) + " has " +
                     std::to_string(tensor.shape.size()) + " axes; qkv reads at most 4");
}

}  // namespace

std::string_view to_string(FileFormat format) { return kFormats[static_cast<std::size_t>(format)].name; }

Result<FileFormat> format_of_name(std::string_view path) {
  for (const FormatRow& row : kFormats)
    if (ends_in(path, row.ending)) return row.format;
  return invalid_argument("the name '" + std::string(path) +
                          "' does not say a format; expected .safetensors, .npz or .npy");
}

TensorFile::TensorFile(std::string path, FileFormat format, std::unique_ptr<TensorSource> source)
    : path_(std::move(path)), format_(format), source_(std::move(source)) {}
TensorFile::TensorFile(TensorFile&&) noexcept = default;
TensorFile& TensorFile::operator=(TensorFile&&) noexcept = default;
TensorFile::~TensorFile() = default;

Result<TensorFile> TensorFile::open(const std::string& path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file.is_ok()) return with_path(path, file.status());
  const Result<FileFormat> format = format_of(file->bytes(), path);
  if (!format.is_ok()) return with_path(path, format.status());
  auto source = open_source(std::move(file).value(), *format, path);
  if (!source.is_ok()) return with_path(path, source.status());
  return TensorFile(path, *format, std::move(source).value());
}

const std::vector<StoredTensor>& TensorFile::tensors() const { return source_->tensors(); }

const StoredTensor* TensorFile::find(std::string_view name) const {
  const auto& all = tensors();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const StoredTensor& tensor) { return tensor.name == name; });
  return found == all.end() ? nullptr : &*found;
}

const Metadata& TensorFile::metadata() const { return source_->metadata(); }

Result<View<const void>> TensorFile::view(std::string_view name) {
  const StoredTensor* tensor = find(name);
  if (tensor == nullptr)
    return with_path(path_,
                     invalid_argument("it has no tensor " + quoted_name(name) + "; it has " + names_of(tensors())));
  const auto index = static_cast<std::size_t>(tensor - tensors().data());
  if (const Status status = check_viewable(*source_, index); !status.is_ok()) return with_path(path_, status);
  auto view = source_->view(index);
  if (view.is_ok()) return view;
  return with_path(path_, {view.code(), "tensor " + quoted_name(name) + ": " + view.status().message()});
}

Result<std::vector<std::string>> TensorFile::strings(std::string_view name) {
  auto strings = source_->strings(name);
  return strings.is_ok() ? std::move(strings) : with_path(path_, strings.status());
}

}  // namespace qkv
