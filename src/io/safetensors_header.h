// The JSON header of a safetensors file, checked against every rule of the format.
#ifndef QKV_SRC_IO_SAFETENSORS_HEADER_H_
#define QKV_SRC_IO_SAFETENSORS_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/io/tensor_file.h"

namespace qkv {

struct SafetensorsHeader {
  struct Range {  // of bytes, relative to the start of the data
    std::uint64_t begin = 0, end = 0;
  };
  std::vector<StoredTensor> tensors;  // in the header's order
  std::vector<Range> ranges;          // one a tensor
  Metadata metadata;
  std::size_t data_offset = 0;  // of the data in the file
};

// Reads the header of a file: an unsigned 64-bit little-endian length, so many bytes of JSON, then the data.
//
// Errors: kCorruptFile, without the path, unless: the length fits the file and 100 MB; the header is UTF-8, a JSON
// object
//   that starts with '{'; no key comes twice; metadata is strings; every tensor has dtype, shape and data_offsets;
//   shapes are non-negative integers; offsets rise, lie in the file, agree with dtype and shape, and cover the data
//   without overlap, hole or rest.
// Cost: one pass without a document in memory; memory is proportional to the header.
Result<SafetensorsHeader> parse_safetensors(std::span<const std::byte> file);

// The same rules for what is already in pieces: the JSON alone, and how many bytes of data follow.
Result<SafetensorsHeader> parse_safetensors_json(std::string_view json, std::uint64_t data_bytes);

// A row of the format's element types; `bits` because some are narrower than a byte.
struct SafetensorsType {
  std::string_view name;
  unsigned bits;
  std::optional<DType> element;  // absent: qkv does not compute with it
};
const SafetensorsType* find_safetensors_type(std::string_view name);  // null if the format has none of that name
std::string_view safetensors_name(DType element);

}  // namespace qkv

#endif  // QKV_SRC_IO_SAFETENSORS_HEADER_H_
