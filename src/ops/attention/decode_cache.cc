// Copies of rows of one type between strided tensors.
#include "src/ops/attention/decode_cache.h"

#include <cstring>

#include "src/core/page_table.h"

namespace qkv {
namespace {

void copy_row(const View<const void>& from, std::int64_t from_offset, const View<void>& to, std::int64_t to_offset) {
  const std::size_t size = size_of(to.dtype);
  const std::int64_t width = to.shape[3];
  const char* source = static_cast<const char*>(from.data) + from_offset * static_cast<std::int64_t>(size);
  char* target = static_cast<char*>(to.data) + to_offset * static_cast<std::int64_t>(size);
  const std::int64_t source_step = from.strides[3] * static_cast<std::int64_t>(size);
  const std::int64_t target_step = to.strides[3] * static_cast<std::int64_t>(size);
  if (from.strides[3] == 1 && to.strides[3] == 1) {
    std::memcpy(target, source, static_cast<std::size_t>(width) * size);
    return;
  }
  for (std::int64_t c = 0; c < width; ++c) std::memcpy(target + c * target_step, source + c * source_step, size);
}

void append_rows(const View<const void>& rows, const View<void>& cache, const PageTable& pages,
                 std::span<const std::int64_t> lengths) {
  for (std::int64_t b = 0; b < rows.shape[0]; ++b)
    for (std::int64_t i = 0; i < rows.shape[2]; ++i) {
      const CacheSlot slot = pages.slot(b, lengths[static_cast<std::size_t>(b)] + i);
      for (std::int64_t h = 0; h < rows.shape[1]; ++h)
        copy_row(rows, b * rows.strides[0] + h * rows.strides[1] + i * rows.strides[2], cache,
                 slot.outer * cache.strides[0] + h * cache.strides[1] + slot.token * cache.strides[2]);
    }
}

}  // namespace

void append_to_cache(const DecodeInputs& inputs, const KeyValueCache& cache) {
  const PageTable pages(cache);
  append_rows(inputs.k, cache.k, pages, cache.lengths);
  append_rows(inputs.v, cache.v, pages, cache.lengths);
}

}  // namespace qkv
