// Reads safetensors: the header is checked once, then every tensor is a range of the mapped file.
#include <utility>

#include "src/core/status_macros.h"
#include "src/io/json_strings.h"
#include "src/io/safetensors_header.h"
#include "src/io/stored_elements.h"
#include "src/io/tensor_source.h"
#include "src/io/text.h"

namespace qkv {
namespace {

class SafetensorsSource final : public TensorSource {
 public:
  SafetensorsSource(MappedFile file, SafetensorsHeader header)
      : file_(std::move(file)),
        ranges_(std::move(header.ranges)),
        copies_(ranges_.size()),
        data_offset_(header.data_offset) {
    tensors_ = std::move(header.tensors);
    metadata_ = std::move(header.metadata);
  }

  std::string refusal(std::size_t) const override {
    return "a type that qkv does not read; expected F64 F32 BF16 F16 BOOL U8 I32 or I64";
  }

  Result<View<const void>> view(std::size_t index) override {
    const StoredTensor& tensor = tensors_[index];
    const Dims shape = dims_of(tensor.shape);
    const ElementLayout layout{*tensor.element, ByteOrder::kLittle, shape, contiguous_strides(shape)};
    const auto begin = static_cast<std::size_t>(ranges_[index].begin);
    const auto data = file_.bytes().subspan(data_offset_ + begin, static_cast<std::size_t>(tensor.bytes));
    return view_of_stored(data, layout, copies_[index]);
  }

  Result<std::vector<std::string>> strings(std::string_view name) override {
    const auto entry = metadata_.find(std::string(name));
    if (entry == metadata_.end()) return invalid_argument("metadata has no key " + quoted_name(name));
    auto strings = parse_json_strings(entry->second);
    if (strings.is_ok()) return strings;
    return Status(strings.code(), "metadata " + quoted_name(name) + ": " + strings.status().message());
  }

 private:
  MappedFile file_;
  std::vector<SafetensorsHeader::Range> ranges_;
  std::vector<Tensor> copies_;  // of tensors that are not aligned in the file
  std::size_t data_offset_;
};

}  // namespace

Result<std::unique_ptr<TensorSource>> open_safetensors(MappedFile file) {
  QKV_ASSIGN_OR_RETURN(SafetensorsHeader header, parse_safetensors(file.bytes()));
  return std::unique_ptr<TensorSource>(std::make_unique<SafetensorsSource>(std::move(file), std::move(header)));
}

}  // namespace qkv
