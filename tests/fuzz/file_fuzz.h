// A tensor file in memory, opened and read whole as every shell does.
#ifndef QKV_TESTS_FUZZ_FILE_FUZZ_H_
#define QKV_TESTS_FUZZ_FILE_FUZZ_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/io/tensor_file.h"

namespace qkv::fuzz {

// Calls use(file) if the bytes can be opened as a file of tensors.
template <class Use>
void with_file(const std::uint8_t* bytes, std::size_t count, const Use& use) {
  const int file = ::memfd_create("fuzz", 0);
  if (file < 0) return;
  if (::write(file, bytes, count) == static_cast<ssize_t>(count)) {
    Result<TensorFile> opened = TensorFile::open("/proc/self/fd/" + std::to_string(file));
    if (opened.is_ok()) use(*opened);
  }
  ::close(file);
}

// Looks at every tensor's first and last element, and at the texts that explain reads.
inline void read_file(const std::uint8_t* bytes, std::size_t count) {
  with_file(bytes, count, [](TensorFile& file) {
    for (const StoredTensor& tensor : file.tensors()) {
      const Result<View<const void>> view = file.view(tensor.name);
      if (!view.is_ok() || element_count(view->shape) <= 0) continue;
      std::int64_t last = 0;
      for (int axis = 0; axis < view->shape.rank(); ++axis) last += (view->shape[axis] - 1) * view->strides[axis];
      static_cast<void>(element_as_double(*view, 0) + element_as_double(*view, last));
    }
    for (const char* name : {"tokens", "value_axes"}) static_cast<void>(file.strings(name).is_ok());
  });
}

}  // namespace qkv::fuzz

#endif  // QKV_TESTS_FUZZ_FILE_FUZZ_H_
