// The header of an npy array: read by a strict parser of the one Python literal that it may hold, and written.
#ifndef QKV_SRC_IO_NPY_HEADER_H_
#define QKV_SRC_IO_NPY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/status.h"
#include "qkv/tensor.h"
#include "src/io/stored_elements.h"

namespace qkv {

struct NpyHeader {
  std::string descr;  // "<f4"; of a structured type the literal as it stands
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// Bytes of the preamble from which npy_data_offset() tells where the data starts.
inline constexpr std::size_t kNpyPreamble = 12;

// Magic, version and header length (16 bits in version 1.0, 32 bits in 2.0 and 3.0) of a file of `file_size` bytes that
// starts with `start`. Errors: kCorruptFile (no npy, or shorter than its header), kUnsupported (another version).
Result<std::size_t> npy_data_offset(std::span<const std::byte> start, std::uint64_t file_size);

// `head` is everything before the data. Errors: kCorruptFile unless it is a dictionary of exactly descr, fortran_order
// and shape, followed by spaces and a line end. Never evaluates anything.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> head);

// What a descr means.
struct NpyType {
  std::optional<DType> element;  // absent: not for computing
  ByteOrder byte_order = ByteOrder::kLittle;
  std::optional<std::uint64_t> bytes_each;  // absent: structured, object or unknown
  std::uint64_t characters = 0;             // of a unicode string, 4 bytes each
};
NpyType npy_type(std::string_view descr);

// Why npy_type() gives no element, as a sentence's end: "it is an object array, which only unpickling could read".
std::string npy_refusal(std::string_view descr);

std::string_view npy_descr(DType element);

// Version 1.0, padded so that the data starts at a multiple of 64.
// Constraint: row-major data; at most kMaxRank extents, so that the header stays short.
std::string format_npy_header(std::string_view descr, std::span<const std::int64_t> shape);

}  // namespace qkv

#endif  // QKV_SRC_IO_NPY_HEADER_H_
