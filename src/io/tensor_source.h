// What every file format gives: the interface between TensorFile and the readers. Errors carry no path: TensorFile adds
// it.
#ifndef QKV_SRC_IO_TENSOR_SOURCE_H_
#define QKV_SRC_IO_TENSOR_SOURCE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/io/mapped_file.h"
#include "src/io/tensor_file.h"

namespace qkv {

class TensorSource {
 public:
  TensorSource() = default;
  TensorSource(const TensorSource&) = delete;
  TensorSource& operator=(const TensorSource&) = delete;
  virtual ~TensorSource() = default;

  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }

  // Why a tensor without `element` cannot be viewed, as the end of a sentence.
  virtual std::string refusal(std::size_t index) const = 0;

  // Constraint: the tensor has an `element` and at most kMaxRank axes.
  virtual Result<View<const void>> view(std::size_t index) = 0;
  virtual Result<std::vector<std::string>> strings(std::string_view name) = 0;

 protected:
  std::vector<StoredTensor> tensors_;
  Metadata metadata_;
};

Result<std::unique_ptr<TensorSource>> open_safetensors(MappedFile file);
Result<std::unique_ptr<TensorSource>> open_npy(MappedFile file, std::string name);
Result<std::unique_ptr<TensorSource>> open_npz(MappedFile file);

}  // namespace qkv

#endif  // QKV_SRC_IO_TENSOR_SOURCE_H_
