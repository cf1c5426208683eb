// Arrays in a zip archive: headers are read when it is opened, the data of an array when it is asked for.
#include <algorithm>
#include <utility>

#include "src/core/status_macros.h"
#include "src/io/npy_array.h"
#include "src/io/stored_elements.h"
#include "src/io/tensor_source.h"
#include "src/io/text.h"
#include "src/io/zip_reader.h"

namespace qkv {
namespace {

constexpr std::string_view kEnding = ".npy";
// Of all zero-dimensional strings together: an archive whose members share bytes must not multiply them.
constexpr std::uint64_t kMostMetadata = 1 << 20;

class NpzSource final : public TensorSource {
 public:
  NpzSource(MappedFile file, ZipReader zip) : file_(std::move(file)), zip_(std::move(zip)) {}

  // Errors name the member.
  Status read_headers() {
    for (std::size_t member = 0; member < zip_.members().size(); ++member) {
      const std::string& name = zip_.members()[member].name;
      if (!name.ends_with(kEnding)) continue;  // not an array; NumPy keeps such members apart too
      const Status status = read_header(member, name.substr(0, name.size() - kEnding.size()));
      if (!status.is_ok()) return {status.code(), "member " + quoted_name(name) + ": " + status.message()};
    }
    copies_.resize(arrays_.size());
    return check_unique_names();
  }

  std::string refusal(std::size_t index) const override { return npy_refusal(arrays_[index].array.header.descr); }

  Result<View<const void>> view(std::size_t index) override {
    const Entry& entry = arrays_[index];
    const ElementLayout layout = layout_of(entry.array);
    if (!copies_[index].is_present()) {
      QKV_ASSIGN_OR_RETURN(Tensor filled, memory_for(layout));
      const auto bytes = static_cast<std::size_t>(entry.array.data_bytes);
      QKV_RETURN_IF_ERROR(read_data(entry, {filled.data<std::byte>(), bytes}));
      QKV_ASSIGN_OR_RETURN(views_[index], view_of_filled(filled, layout));
      copies_[index] = std::move(filled);
    }
    return views_[index];
  }

  Result<std::vector<std::string>> strings(std::string_view name) override {
    const auto found =
        std::find_if(tensors_.begin(), tensors_.end(), [&](const StoredTensor& tensor) { return tensor.name == name; });
    if (found == tensors_.end()) return invalid_argument("it has no array " + quoted_name(name));
    auto strings = read_strings(arrays_[static_cast<std::size_t>(found - tensors_.begin())]);
    if (strings.is_ok()) return strings;
    return Status(strings.code(), "array " + quoted_name(name) + ": " + strings.status().message());
  }

 private:
  struct Entry {
    std::size_t member = 0;
    std::size_t data_offset = 0;
    NpyArray array;
  };

  Status read_header(std::size_t member, std::string name) {
    const std::uint64_t size = zip_.members()[member].size;
    QKV_ASSIGN_OR_RETURN(ZipStream stream, zip_.stream(member));
    std::vector<std::byte> head(static_cast<std::size_t>(std::min<std::uint64_t>(kNpyPreamble, size)));
    QKV_RETURN_IF_ERROR(stream.read(head));
    QKV_ASSIGN_OR_RETURN(const std::size_t data_offset, npy_data_offset(head, size));
    head.resize(std::max(data_offset, kNpyPreamble));
    QKV_RETURN_IF_ERROR(stream.read(std::span(head).subspan(kNpyPreamble)));
    head.resize(data_offset);
    QKV_ASSIGN_OR_RETURN(NpyArray array, parse_npy_array(head, size - data_offset));
    arrays_.push_back({member, data_offset, std::move(array)});
    return arrays_.back().array.type.characters > 0 && arrays_.back().array.header.shape.empty()
               ? add_metadata(std::move(name))
               : add_tensor(std::move(name));
  }

  Status add_tensor(std::string name) {
    tensors_.push_back(describe(arrays_.back().array, std::move(name)));
    views_.emplace_back();
    return {};
  }

  // A single string describes the file as safetensors' __metadata__ does.
  Status add_metadata(std::string name) {
    const Entry entry = std::move(arrays_.back());
    arrays_.pop_back();
    metadata_bytes_ += entry.array.data_bytes;
    if (metadata_bytes_ > kMostMetadata) return unsupported("more than 1 MiB of zero-dimensional strings");
    QKV_ASSIGN_OR_RETURN(auto text, read_strings(entry));
    if (metadata_.emplace(std::move(name), std::move(text.front())).second) return {};
    return corrupt_file("the name comes twice");
  }

  Status check_unique_names() const {
    std::vector<std::string_view> names;
    names.reserve(tensors_.size());
    for (const StoredTensor& tensor : tensors_) names.push_back(tensor.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    return twice == names.end() ? Status() : corrupt_file("it has the array " + quoted_name(*twice) + " twice");
  }

  Result<std::vector<std::string>> read_strings(const Entry& entry) const {
    QKV_RETURN_IF_ERROR(check_is_strings(entry.array));
    QKV_ASSIGN_OR_RETURN(Tensor data, Tensor::zeros(DType::kU8, {static_cast<std::int64_t>(entry.array.data_bytes)}));
    const std::span<std::byte> bytes(data.data<std::byte>(), static_cast<std::size_t>(entry.array.data_bytes));
    QKV_RETURN_IF_ERROR(read_data(entry, bytes));
    return npy_strings(entry.array, bytes);
  }

  Status read_data(const Entry& entry, std::span<std::byte> to) const {
    QKV_ASSIGN_OR_RETURN(ZipStream stream, zip_.stream(entry.member));
    std::vector<std::byte> head(entry.data_offset);
    QKV_RETURN_IF_ERROR(stream.read(head));
    QKV_RETURN_IF_ERROR(stream.read(to));
    return stream.expect_end();
  }

  MappedFile file_;
  ZipReader zip_;
  std::vector<Entry> arrays_;  // arrays_, copies_ and views_ run beside tensors_
  std::vector<Tensor> copies_;
  std::vector<View<const void>> views_;
  std::uint64_t metadata_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<TensorSource>> open_npz(MappedFile file) {
  QKV_ASSIGN_OR_RETURN(ZipReader zip, ZipReader::open(file.bytes()));
  auto source = std::make_unique<NpzSource>(std::move(file), std::move(zip));
  QKV_RETURN_IF_ERROR(source->read_headers());
  return std::unique_ptr<TensorSource>(std::move(source));
}

}  // namespace qkv
