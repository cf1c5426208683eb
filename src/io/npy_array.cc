// Sizes, layouts and strings of npy arrays.
#include "src/io/npy_array.h"

#include <algorithm>
#include <utility>

#include "src/core/status_macros.h"
#include "src/io/text.h"

namespace qkv {
namespace {

// The shape must account for every byte, when the type says how many an element takes.
Status check_size(const NpyArray& array) {
  const std::string described = quoted_name(array.header.descr) + " " + shape_to_string(array.header.shape);
  if (!array.type.bytes_each) return {};
  const auto needed = bytes_of_shape(array.header.shape, *array.type.bytes_each);
  if (!needed) return corrupt_file("npy header: the size of " + described + " overflows");
  if (*needed == array.data_bytes) return {};
  if (*needed > array.data_bytes)
    return corrupt_file("the array is cut short: " + described + " takes " + std::to_string(*needed) + " bytes, but " +
                        std::to_string(array.data_bytes) + " follow the header");
  return corrupt_file(std::to_string(array.data_bytes - *needed) + " bytes follow the array " + described +
                      "; expected none (several arrays belong in an npz)");
}

std::uint32_t code_point_at(std::span<const std::byte> data, std::size_t at, ByteOrder order) {
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < 4; ++k)
    value = value << 8 | std::to_integer<std::uint32_t>(data[at + (order == ByteOrder::kBig ? k : 3 - k)]);
  return value;
}

// One string of `characters` code points, the zeros that pad it left out.
Result<std::string> string_at(std::span<const std::byte> data, const NpyType& type) {
  std::size_t length = data.size() / 4;
  while (length > 0 && code_point_at(data, 4 * (length - 1), type.byte_order) == 0) --length;
  std::string text;
  for (std::size_t k = 0; k < length; ++k) {
    const std::uint32_t code_point = code_point_at(data, 4 * k, type.byte_order);
    if (!append_utf8(code_point, text)) return corrupt_file(std::to_string(code_point) + " is no Unicode code point");
  }
  return text;
}

// Code points of valid UTF-8.
std::vector<std::uint32_t> code_points(const std::string& text) {
  std::vector<std::uint32_t> points;
  for (const char c : text) {
    const auto byte = static_cast<std::uint32_t>(static_cast<unsigned char>(c));
    if ((byte & 0xC0) == 0x80)
      points.back() = points.back() << 6 | (byte & 0x3F);
    else
      points.push_back(byte < 0x80 ? byte : byte < 0xE0 ? byte & 0x1F : byte < 0xF0 ? byte & 0x0F : byte & 0x07);
  }
  return points;
}

}  // namespace

Result<NpyArray> parse_npy_array(std::span<const std::byte> head, std::uint64_t data_bytes) {
  NpyArray array;
  QKV_ASSIGN_OR_RETURN(array.header, parse_npy_header(head));
  array.type = npy_type(array.header.descr);
  array.data_bytes = data_bytes;
  QKV_RETURN_IF_ERROR(check_size(array));
  return array;
}

StoredTensor describe(const NpyArray& array, std::string name) {
  return {std::move(name), array.header.descr, array.type.element, array.header.shape, array.data_bytes};
}

ElementLayout layout_of(const NpyArray& array) {
  const Dims shape = dims_of(array.header.shape);
  return {*array.type.element, array.type.byte_order, shape,
          array.header.fortran_order ? column_major_strides(shape) : contiguous_strides(shape)};
}

Status check_is_strings(const NpyArray& array) {
  const NpyHeader& header = array.header;
  if (array.type.characters > 0 && header.shape.size() <= 1) return {};
  return unsupported("expected a list of strings ('<U12', one axis), found " + quoted_name(header.descr) + " " +
                     shape_to_string(header.shape) +
                     (array.type.element || array.type.characters > 0 ? "" : ": " + npy_refusal(header.descr)));
}

Result<std::vector<std::string>> npy_strings(const NpyArray& array, std::span<const std::byte> data) {
  const auto each = static_cast<std::size_t>(array.type.characters * 4);
  std::vector<std::string> strings;
  for (std::size_t at = 0; at < data.size(); at += each) {
    QKV_ASSIGN_OR_RETURN(std::string text, string_at(data.subspan(at, each), array.type));
    strings.push_back(std::move(text));
  }
  return strings;
}

std::string format_npy_strings(const std::vector<std::string>& strings, int rank) {
  std::vector<std::vector<std::uint32_t>> points;
  std::size_t longest = 1;  // NumPy has no text of width 0
  for (const std::string& text : strings) {
    points.push_back(code_points(text));
    longest = std::max(longest, points.back().size());
  }
  const std::vector<std::int64_t> shape(static_cast<std::size_t>(rank), static_cast<std::int64_t>(strings.size()));
  std::string file = format_npy_header("<U" + std::to_string(longest), shape);
  for (auto& text : points) {
    text.resize(longest);
    for (const std::uint32_t point : text)
      for (const int shift : {0, 8, 16, 24}) file += static_cast<char>(static_cast<unsigned char>(point >> shift));
  }
  return file;
}

}  // namespace qkv
