// A single array in a file: mapped, and given in place where byte order and alignment allow.
#include <utility>

#include "src/core/status_macros.h"
#include "src/io/npy_array.h"
#include "src/io/stored_elements.h"
#include "src/io/tensor_sink.h"
#include "src/io/tensor_source.h"
#include "src/io/text.h"

namespace qkv {
namespace {

class NpySource final : public TensorSource {
 public:
  NpySource(MappedFile file, NpyArray array, std::string name) : file_(std::move(file)), array_(std::move(array)) {
    tensors_.push_back(describe(array_, std::move(name)));
  }

  std::string refusal(std::size_t) const override { return npy_refusal(array_.header.descr); }

  Result<View<const void>> view(std::size_t) override { return view_of_stored(data(), layout_of(array_), copy_); }

  Result<std::vector<std::string>> strings(std::string_view name) override {
    if (name != tensors_.front().name)
      return invalid_argument("it holds one array, " + quoted_name(tensors_.front().name));
    QKV_RETURN_IF_ERROR(check_is_strings(array_));
    return npy_strings(array_, data());
  }

 private:
  std::span<const std::byte> data() const { return file_.bytes().last(static_cast<std::size_t>(array_.data_bytes)); }

  MappedFile file_;
  NpyArray array_;
  Tensor copy_;  // of an array that is not aligned in the file, or of the other byte order
};

}  // namespace

Result<std::unique_ptr<TensorSource>> open_npy(MappedFile file, std::string name) {
  const auto bytes = file.bytes();
  QKV_ASSIGN_OR_RETURN(const std::size_t data_offset, npy_data_offset(bytes, bytes.size()));
  QKV_ASSIGN_OR_RETURN(NpyArray array, parse_npy_array(bytes.first(data_offset), bytes.size() - data_offset));
  return std::unique_ptr<TensorSource>(std::make_unique<NpySource>(std::move(file), std::move(array), std::move(name)));
}

Status write_npy(const FileContents& contents, AtomicFile& file) {
  if (contents.tensors.size() != 1 || !contents.metadata.empty() || !contents.strings.empty())
    return invalid_argument("an npy file holds exactly one array, without metadata; found " +
                            std::to_string(contents.tensors.size()) + " tensors, " +
                            std::to_string(contents.metadata.size() + contents.strings.size()) +
                            " entries of metadata. Write an npz or a safetensors file");
  const View<const void>& values = contents.tensors.front().values;
  Tensor copy;
  QKV_ASSIGN_OR_RETURN(const View<const void> packed, row_major(values, copy));
  QKV_RETURN_IF_ERROR(file.write(format_npy_header(npy_descr(values.dtype), extents_of(values.shape))));
  const auto bytes = bytes_of(packed);
  return file.write(bytes.data(), bytes.size());
}

}  // namespace qkv
