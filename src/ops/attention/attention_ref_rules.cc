// allowed(b,h,i,j) and the bias, as docs/semantics.md writes them.
#include "src/ops/attention/attention_ref_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "src/ops/attention/attention_ref_row.h"
#include "src/ops/softmax/softmax_ref.h"

namespace qkv::reference {

RowRules::RowRules(const AttentionShape& shape, const AttentionOptions& options, RowIndex row)
    : shape_(shape), options_(options), row_(row) {
  if (options.keep.is_present()) keep_ = broadcast_to_scores(shape, options.keep);
  if (options.bias.is_present()) bias_ = broadcast_to_scores(shape, options.bias);
  find_sequence();
}

void RowRules::find_sequence() {
  std::int64_t query_begin = 0;
  std::int64_t query_end = shape_.query_length;
  key_end_ = shape_.key_length;
  for (std::size_t s = 1; s < options_.cu_seqlens_q.size(); ++s) {
    if (row_.i < options_.cu_seqlens_q[s - 1] || row_.i >= options_.cu_seqlens_q[s]) continue;
    query_begin = options_.cu_seqlens_q[s - 1];
    query_end = options_.cu_seqlens_q[s];
    key_begin_ = options_.cu_seqlens_k[s - 1];
    key_end_ = options_.cu_seqlens_k[s];
  }
  if (!options_.key_lengths.empty()) {
    const std::int64_t length = options_.key_lengths[static_cast<std::size_t>(row_.b)];
    key_end_ = std::max(key_begin_, std::min(key_end_, length));
  }
  std::int64_t offset = 0;  // top left
  if (options_.corner == Corner::kBottomRight) offset = (key_end_ - key_begin_) - (query_end - query_begin);
  if (options_.corner == Corner::kOffset) offset = options_.offset;
  position_ = key_begin_ + (row_.i - query_begin) + offset;
}

bool RowRules::allowed_by_position(std::int64_t j) const {
  if (j < key_begin_ || j >= key_end_) return false;
  if (options_.causality == Causality::kCausal && j > position_) return false;
  // Distances rather than sums: a window may be as wide as its type.
  if (options_.window.left >= 0 && position_ - j > options_.window.left) return false;
  if (options_.window.right >= 0 && j - position_ > options_.window.right) return false;
  return true;
}

bool RowRules::allowed_by_masks(std::int64_t j) const {
  if (keep_.is_present() && element_at(keep_, row_.b, row_.h, row_.i, j) == 0) return false;
  if (bias_.is_present() && element_at(bias_, row_.b, row_.h, row_.i, j) == kHidden) return false;
  if (!options_.key_mask.is_present()) return true;
  const View<const void>& mask = options_.key_mask;
  return element_as_double(mask, row_.b * mask.strides[0] + j * mask.strides[1]) != 0;
}

bool RowRules::allowed(std::int64_t j) const { return allowed_by_position(j) && allowed_by_masks(j); }

double RowRules::bias(std::int64_t j) const {
  double added = bias_.is_present() ? element_at(bias_, row_.b, row_.h, row_.i, j) : 0.0;
  if (!options_.slopes.empty())
    added -= options_.slopes[static_cast<std::size_t>(row_.h)] * static_cast<double>(std::abs(position_ - j));
  return added;
}

}  // namespace qkv::reference
