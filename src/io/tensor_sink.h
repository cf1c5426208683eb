// The writers of the file formats. Their contents have been checked by write_tensor_file(); errors carry no path.
#ifndef QKV_SRC_IO_TENSOR_SINK_H_
#define QKV_SRC_IO_TENSOR_SINK_H_

#include "qkv/status.h"
#include "src/io/atomic_file.h"
#include "src/io/tensor_file.h"

namespace qkv {

// The file holds all of the contents afterwards and is not committed.
Status write_safetensors(const FileContents& contents, AtomicFile& file);
Status write_npy(const FileContents& contents, AtomicFile& file);
Status write_npz(const FileContents& contents, AtomicFile& file);

}  // namespace qkv

#endif  // QKV_SRC_IO_TENSOR_SINK_H_
