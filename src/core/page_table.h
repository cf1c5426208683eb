// Where the token of a sequence lies in a cache: in its own row, or in a page that a block table names.
#ifndef QKV_SRC_CORE_PAGE_TABLE_H_
#define QKV_SRC_CORE_PAGE_TABLE_H_

#include <bit>
#include <cstdint>

#include "qkv/decode.h"

namespace qkv {

// The first and third index of a token's row in cache.k and cache.v; the second is its head.
struct CacheSlot {
  std::int64_t outer;  // batch, or page
  std::int64_t token;  // in the sequence, or in the page
};

class PageTable {
 public:
  PageTable() = default;
  explicit PageTable(const KeyValueCache& cache) : table_(cache.block_table) {
    if (!table_.is_present()) return;
    page_ = cache.k.shape[2];
    if (page_ > 0 && std::has_single_bit(static_cast<std::uint64_t>(page_)))
      shift_ = std::countr_zero(static_cast<std::uint64_t>(page_));
  }

  bool is_paged() const { return page_ > 0; }
  std::int64_t page_size() const { return page_; }

  // The entry of the block table that token `token` of batch `batch` is found by. Constraint: paged.
  std::int64_t entry_of(std::int64_t token) const { return shift_ >= 0 ? token >> shift_ : token / page_; }
  std::int64_t page(std::int64_t batch, std::int64_t entry) const {
    const std::int64_t at = batch * table_.strides[0] + entry * table_.strides[1];
    if (table_.dtype == DType::kI32) return static_cast<const std::int32_t*>(table_.data)[at];
    return static_cast<const std::int64_t*>(table_.data)[at];
  }

  CacheSlot slot(std::int64_t batch, std::int64_t token) const {
    if (!is_paged()) return {batch, token};
    const std::int64_t entry = entry_of(token);
    return {page(batch, entry), token - entry * page_};
  }

 private:
  View<const void> table_;
  std::int64_t page_ = 0;
  int shift_ = -1;  // log2 of the page where it is a power of two: a division a key would be felt
};

}  // namespace qkv

#endif  // QKV_SRC_CORE_PAGE_TABLE_H_
