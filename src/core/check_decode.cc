// The rules of attention_decode, and the sentence for each one that is broken.
#include "src/core/check_decode.h"

#include <algorithm>
#include <string>

#include "src/core/check_view.h"
#include "src/core/shape_table.h"
#include "src/core/status_macros.h"
#include "src/core/view_memory.h"

namespace qkv {
namespace {

constexpr std::string_view kOperation = "attention_decode";

std::string number(std::int64_t value) { return std::to_string(value); }

Status check_block_table(ShapeTable& table, const KeyValueCache& cache) {
  const View<const void>& pages = cache.block_table;
  QKV_RETURN_IF_ERROR(table.match("block_table", {"B", "max_pages"}, pages.shape));
  QKV_RETURN_IF_ERROR(check_memory(table, "block_table", pages));
  if (pages.dtype != DType::kI32 && pages.dtype != DType::kI64)
    return shape_mismatch(
        table.message("block_table is " + std::string(to_string(pages.dtype)) + "; expected i32 or i64"));
  if (table["page"] < 1) return shape_mismatch(table.message("cache.k has pages of no token"));
  return {};
}

// Shapes and types of all tensors; binds B Hq t D Hkv Dv and capacity or P, page, max_pages.
Status check_tensors(ShapeTable& table, const DecodeInputs& inputs, const KeyValueCache& cache) {
  QKV_RETURN_IF_ERROR(table.match("q", {"B", "Hq", "t", "D"}, inputs.q.shape));
  if (cache.block_table.is_present()) {
    QKV_RETURN_IF_ERROR(table.match("cache.k", {"P", "Hkv", "page", "D"}, cache.k.shape));
    QKV_RETURN_IF_ERROR(table.match("cache.v", {"P", "Hkv", "page", "Dv"}, cache.v.shape));
    QKV_RETURN_IF_ERROR(check_block_table(table, cache));
  } else {
    QKV_RETURN_IF_ERROR(table.match("cache.k", {"B", "Hkv", "capacity", "D"}, cache.k.shape));
    QKV_RETURN_IF_ERROR(table.match("cache.v", {"B", "Hkv", "capacity", "Dv"}, cache.v.shape));
  }
  if (inputs.k.is_present() != inputs.v.is_present())
    return invalid_argument(table.message(std::string(inputs.k.is_present() ? "k" : "v") + " is given without " +
                                          (inputs.k.is_present() ? "v" : "k") +
                                          "; give both to append them, or neither"));
  if (inputs.k.is_present()) {
    QKV_RETURN_IF_ERROR(table.match("k", {"B", "Hkv", "t", "D"}, inputs.k.shape));
    QKV_RETURN_IF_ERROR(table.match("v", {"B", "Hkv", "t", "Dv"}, inputs.v.shape));
  }
  for (const NamedView& tensor : {NamedView{"q", inputs.q}, NamedView{"cache.k", cache.k},
                                  NamedView{"cache.v", cache.v}, NamedView{"k", inputs.k}, NamedView{"v", inputs.v}}) {
    if (!tensor.view.is_present()) continue;
    QKV_RETURN_IF_ERROR(check_memory(table, tensor.name, tensor.view));
    QKV_RETURN_IF_ERROR(check_floating(table, tensor.name, tensor.view));
    if (tensor.view.dtype != inputs.q.dtype)
      return shape_mismatch(table.message(std::string(tensor.name) + " is " +
                                          std::string(to_string(tensor.view.dtype)) + " but q is " +
                                          std::string(to_string(inputs.q.dtype)) + "; convert them to one type first"));
  }
  return {};
}

Status check_sizes(const ShapeTable& table) {
  const std::int64_t query_heads = table["Hq"];
  const std::int64_t kv_heads = table["Hkv"];
  if (kv_heads == 0 ? query_heads != 0 : query_heads % kv_heads != 0)
    return shape_mismatch(
        table.message("cache.k has " + number(kv_heads) + " heads, which does not divide q's " + number(query_heads)));
  if (table["D"] < 1 || table["Dv"] < 1) return shape_mismatch(table.message("D and Dv must be at least 1"));
  if (table["t"] < 1) return shape_mismatch(table.message("q has no token; t must be at least 1"));
  return {};
}

// What attention_forward takes and a cache makes meaningless.
Status check_cache_options(const ShapeTable& table, const AttentionOptions& options) {
  if (!options.key_lengths.empty())
    return invalid_argument(table.message("key_lengths is given, but the cache has lengths; leave it out"));
  if (!options.cu_seqlens_q.empty() || !options.cu_seqlens_k.empty())
    return invalid_argument(table.message("packed sequences (cu_seqlens) have no cache; use attention_forward"));
  if (options.corner != Corner::kUnset && options.corner != Corner::kBottomRight)
    return invalid_argument(
        table.message(std::string("corner is ") + (options.corner == Corner::kTopLeft ? "top_left" : "an offset") +
                      ", but new tokens stand at the end of the cache; say bottom_right or nothing"));
  return {};
}

Status check_lengths(const ShapeTable& table, const KeyValueCache& cache, std::int64_t appended,
                     std::int64_t capacity) {
  if (static_cast<std::int64_t>(cache.lengths.size()) != table["B"])
    return shape_mismatch(table.message("cache.lengths has " + number(static_cast<std::int64_t>(cache.lengths.size())) +
                                        " entries; expected [B] = " + number(table["B"])));
  for (std::size_t b = 0; b < cache.lengths.size(); ++b) {
    const std::int64_t length = cache.lengths[b];
    const std::string_view room = cache.block_table.is_present() ? "max_pages * page = " : "capacity = ";
    if (length < 0 || length > capacity)
      return invalid_argument(table.message("cache.lengths[" + number(static_cast<std::int64_t>(b)) + "] is " +
                                            number(length) + "; expected 0 to " + std::string(room) +
                                            number(capacity)));
    if (appended > capacity - length)
      return invalid_argument(table.message("the cache is full: batch " + number(static_cast<std::int64_t>(b)) +
                                            " holds " + number(length) + " tokens and " + number(appended) +
                                            " more exceed " + std::string(room) + number(capacity)));
  }
  return {};
}

// Entries [first, last) of a block table that hold tokens [begin, end).
struct Entries {
  std::int64_t first, last;
};
Entries entries_of(const PageTable& pages, std::int64_t begin, std::int64_t end) {
  return {pages.entry_of(begin), begin == end ? pages.entry_of(begin) : pages.entry_of(end - 1) + 1};
}

Status check_pages_exist(const ShapeTable& table, const PageTable& pages, std::span<const std::int64_t> lengths,
                         std::int64_t appended, std::int64_t left) {
  const std::int64_t count = table["P"];
  for (std::int64_t b = 0; b < static_cast<std::int64_t>(lengths.size()); ++b) {
    const std::int64_t end = lengths[static_cast<std::size_t>(b)] + appended;
    const std::int64_t oldest = end - table["t"];  // where the first query stands
    const std::int64_t begin = left < 0 || left >= oldest ? 0 : oldest - left;
    const Entries entries = entries_of(pages, begin, end);
    for (std::int64_t e = entries.first; e < entries.last; ++e)
      if (const std::int64_t page = pages.page(b, e); page < 0 || page >= count)
        return invalid_argument(table.message("block_table[" + number(b) + "," + number(e) + "] names page " +
                                              number(page) + "; expected 0 to P - 1 = " + number(count - 1)));
  }
  return {};
}

// That no page takes new tokens of two sequences, or from two entries of one.
Status check_pages_apart(const ShapeTable& table, const PageTable& pages, std::span<const std::int64_t> lengths,
                         std::int64_t appended) {
  const auto batch = static_cast<std::int64_t>(lengths.size());
  for (std::int64_t b = 0; b < batch; ++b) {
    const std::int64_t begin = lengths[static_cast<std::size_t>(b)];
    const Entries entries = entries_of(pages, begin, begin + appended);
    for (std::int64_t e = entries.first; e < entries.last; ++e)
      for (std::int64_t other = b; other < batch; ++other) {
        const std::int64_t other_begin = lengths[static_cast<std::size_t>(other)];
        const Entries others = entries_of(pages, other_begin, other_begin + appended);
        for (std::int64_t f = other == b ? e + 1 : others.first; f < others.last; ++f)
          if (pages.page(b, e) == pages.page(other, f))
            return invalid_argument(table.message("page " + number(pages.page(b, e)) +
                                                  " would take new tokens twice, "
                                                  "by block_table[" +
                                                  number(b) + "," + number(e) + "] and [" + number(other) + "," +
                                                  number(f) + "]"));
      }
  }
  return {};
}

// Whether a step along `axis` passes a block of `a` and then a block of `b` (or the other way round), and all blocks
// are apart: [pages,2,heads,slots,D] along the pages, [batch,slots,2,heads,D] along the slots. Constraint: b begins
// behind a.
bool take_turns_along(int axis, const View<const void>& a, const View<const void>& b) {
  const std::int64_t step = a.strides[axis];
  std::int64_t inside_a = 1;  // elements from the first of a block to its end
  std::int64_t inside_b = 1;
  std::int64_t covered = step * a.shape[axis];
  for (int other = 0; other < a.shape.rank(); ++other) {
    const bool outside = a.strides[other] >= covered || (other == axis && b.strides[axis] == step);
    if (outside && (a.shape[other] != b.shape[other] || a.strides[other] != b.strides[other])) return false;
    if (outside) continue;
    inside_a += (a.shape[other] - 1) * a.strides[other];
    inside_b += (b.shape[other] - 1) * b.strides[other];
  }
  const std::int64_t behind = (static_cast<const char*>(b.data) - static_cast<const char*>(a.data)) /
                              static_cast<std::int64_t>(size_of(a.dtype));
  return behind >= inside_a && behind + inside_b <= step;
}

// Whether two tensors of one type lie in the same memory without sharing an element, block after block.
bool take_turns(const View<const void>& a, const View<const void>& b) {
  if (a.data > b.data) return take_turns(b, a);
  for (int axis = 0; axis + 1 < a.shape.rank(); ++axis)
    if (take_turns_along(axis, a, b)) return true;
  return false;
}

// That the cache, which is about to be written, shares memory with nothing.
Status check_cache_apart(const ShapeTable& table, const DecodeInputs& inputs, const KeyValueCache& cache,
                         const AttentionOptions& options) {
  const NamedView read[] = {{"q", inputs.q},
                            {"k", inputs.k},
                            {"v", inputs.v},
                            {"block_table", cache.block_table},
                            {"keep", options.keep},
                            {"bias", options.bias},
                            {"key_mask", options.key_mask}};
  QKV_RETURN_IF_ERROR(check_apart(table, {"cache.k", cache.k}, read));
  QKV_RETURN_IF_ERROR(check_apart(table, {"cache.v", cache.v}, read));
  if (memory_overlaps(cache.k, cache.v) && !take_turns(cache.k, cache.v))
    return shape_mismatch(table.message("cache.v overlaps the memory of cache.k; give it memory of its own"));
  return {};
}

}  // namespace

Result<DecodeShape> check_decode(const DecodeInputs& inputs, const KeyValueCache& cache,
                                 const AttentionOutputs& outputs, const AttentionOptions& options) {
  ShapeTable table(kOperation);
  QKV_RETURN_IF_ERROR(check_tensors(table, inputs, cache));
  QKV_RETURN_IF_ERROR(check_sizes(table));
  QKV_RETURN_IF_ERROR(check_cache_options(table, options));
  const bool paged = cache.block_table.is_present();
  std::int64_t capacity = paged ? 0 : table["capacity"];
  if (paged && __builtin_mul_overflow(table["max_pages"], table["page"], &capacity))
    return shape_mismatch(table.message("block_table has room for more than 2^63 tokens"));
  table.define("Tq", table["t"], "q", inputs.q.shape);
  table.define("Tk", capacity, paged ? "max_pages * page of block_table and cache.k" : "the capacity of cache.k");
  QKV_RETURN_IF_ERROR(check_options(table, options));
  DecodeShape shape;
  shape.attention = {table["B"], table["Hq"], table["Hkv"], table["t"], capacity, table["D"], table["Dv"]};
  shape.appended = inputs.k.is_present() ? table["t"] : 0;
  QKV_RETURN_IF_ERROR(check_lengths(table, cache, shape.appended, capacity));
  if (paged) {
    const PageTable pages(cache);
    QKV_RETURN_IF_ERROR(check_pages_exist(table, pages, cache.lengths, shape.appended, options.window.left));
    QKV_RETURN_IF_ERROR(check_pages_apart(table, pages, cache.lengths, shape.appended));
  }
  if (shape.appended > 0) QKV_RETURN_IF_ERROR(check_cache_apart(table, inputs, cache, options));
  const NamedView read[] = {{"q", inputs.q},        {"k", inputs.k},        {"v", inputs.v},
                            {"cache.k", cache.k},   {"cache.v", cache.v},   {"block_table", cache.block_table},
                            {"keep", options.keep}, {"bias", options.bias}, {"key_mask", options.key_mask}};
  QKV_RETURN_IF_ERROR(check_results(table, "t", inputs.q.dtype, outputs, read));
  return shape;
}

}  // namespace qkv
