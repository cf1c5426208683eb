// One npy array, alone in a file or a member of an npz: what it holds, checked against the bytes that are there.
#ifndef QKV_SRC_IO_NPY_ARRAY_H_
#define QKV_SRC_IO_NPY_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qkv/status.h"
#include "src/io/npy_header.h"
#include "src/io/stored_elements.h"
#include "src/io/tensor_file.h"

namespace qkv {

struct NpyArray {
  NpyHeader header;
  NpyType type;
  std::uint64_t data_bytes = 0;
};

// `head` is everything before the data, of which there are `data_bytes`. Errors: kCorruptFile, kUnsupported; a product
// that overflows, too few bytes and too many are errors.
Result<NpyArray> parse_npy_array(std::span<const std::byte> head, std::uint64_t data_bytes);

StoredTensor describe(const NpyArray& array, std::string name);

// Constraint: the array has an element and at most kMaxRank axes.
ElementLayout layout_of(const NpyArray& array);

// kUnsupported unless it is a unicode array of rank 0 or 1.
Status check_is_strings(const NpyArray& array);

// Constraint: check_is_strings() passed. Errors: kCorruptFile for what is no code point.
Result<std::vector<std::string>> npy_strings(const NpyArray& array, std::span<const std::byte> data);

// A unicode array of rank 1, or of rank 0 for one string. Constraint: UTF-8.
std::string format_npy_strings(const std::vector<std::string>& strings, int rank);

}  // namespace qkv

#endif  // QKV_SRC_IO_NPY_ARRAY_H_
