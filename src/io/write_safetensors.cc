// Writes safetensors: header padded so that the data starts 64-byte aligned, wide elements first so that all stay
// aligned.
#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "src/core/status_macros.h"
#include "src/io/json_strings.h"
#include "src/io/safetensors_header.h"
#include "src/io/stored_elements.h"
#include "src/io/tensor_sink.h"

namespace qkv {
namespace {

static_assert(std::endian::native == std::endian::little,
              "files are little-endian; writing them elsewhere needs a swap");

constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector

// In the order of the data.
std::vector<const NamedTensor*> wide_elements_first(const std::vector<NamedTensor>& tensors) {
  std::vector<const NamedTensor*> order;
  order.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    const std::size_t wide_a = size_of(a->values.dtype), wide_b = size_of(b->values.dtype);
    return wide_a != wide_b ? wide_a > wide_b : a < b;  // as they were given among their like
  });
  return order;
}

nlohmann::ordered_json shape_json(const Dims& shape) {
  auto list = nlohmann::ordered_json::array();
  for (int axis = 0; axis < shape.rank(); ++axis) list.push_back(shape[axis]);
  return list;
}

std::string header_json(const FileContents& contents, const std::vector<const NamedTensor*>& order) {
  auto header = nlohmann::ordered_json::object();
  for (const auto& [key, text] : contents.metadata) header["__metadata__"][key] = text;
  for (const auto& [key, list] : contents.strings) header["__metadata__"][key] = format_json_strings(list);
  std::size_t begin = 0;
  for (const NamedTensor* tensor : order) {
    const std::size_t end = begin + bytes_of(tensor->values).size();
    header[tensor->name] = {{"dtype", safetensors_name(tensor->values.dtype)},
                            {"shape", shape_json(tensor->values.shape)},
                            {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string json = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const std::size_t end = sizeof(std::uint64_t) + json.size();
  json.append((kAlignment - end % kAlignment) % kAlignment, ' ');
  return json;
}

Status write_tensor(const NamedTensor& tensor, AtomicFile& file) {
  Tensor copy;
  QKV_ASSIGN_OR_RETURN(const View<const void> packed, row_major(tensor.values, copy));
  const auto bytes = bytes_of(packed);
  return file.write(bytes.data(), bytes.size());
}

}  // namespace

Status write_safetensors(const FileContents& contents, AtomicFile& file) {
  const auto order = wide_elements_first(contents.tensors);
  const std::string json = header_json(contents, order);
  const std::uint64_t length = json.size();
  QKV_RETURN_IF_ERROR(file.write(&length, sizeof length));
  QKV_RETURN_IF_ERROR(file.write(json));
  for (const NamedTensor* tensor : order) QKV_RETURN_IF_ERROR(write_tensor(*tensor, file));
  return {};
}

}  // namespace qkv
