// Which keys a query sees, and what is added to a score, rightly or with a mistake.
#ifndef QKV_SRC_CHECK_VARIANT_MASK_H_
#define QKV_SRC_CHECK_VARIANT_MASK_H_

#include <cstdint>
#include <limits>

#include "qkv/options.h"
#include "src/check/mistake_set.h"
#include "src/core/check_attention.h"
#include "src/core/positions.h"
#include "src/ops/attention/attention_ref_rules.h"

namespace qkv::check {

// Constraint: shape, options and mistakes outlive the object; options are those that without_what_is_ignored() gave.
class VariantMask {
 public:
  static constexpr std::int64_t kOpen = std::numeric_limits<std::int64_t>::max();  // a window without an end there

  // `is_open`: everything is allowed, as where a pass forgets its masks.
  VariantMask(const AttentionShape& shape, const AttentionOptions& options, const MistakeSet& mistakes,
              bool is_open = false);

  bool allowed(reference::RowIndex at, std::int64_t j) const;

  // 1 or 0 for kMaskAdded, else 0.
  double added(reference::RowIndex at, std::int64_t j) const;

  // bias(i,j) − slope_h |p_i − j|, each 0 if it is absent.
  double bias(reference::RowIndex at, std::int64_t j) const;
  double slope(reference::RowIndex at, std::int64_t j) const;

 private:
  enum BooleanMask : std::int64_t { kPairs = 1, kPadding };  // as kMaskInverted's parameter counts them
  bool inverts(BooleanMask mask) const;
  bool kept(reference::RowIndex at, std::int64_t j) const;
  bool allowed_by_keys(reference::RowIndex at, const Sequence& sequence, std::int64_t j) const;
  bool allowed_by_position(reference::RowIndex at, std::int64_t position, std::int64_t j) const;
  std::int64_t causal_limit(reference::RowIndex at, std::int64_t position) const;
  std::int64_t mask_batch(reference::RowIndex at) const;
  std::int64_t bias_head(std::int64_t h) const;

  const AttentionShape& shape_;
  const AttentionOptions& options_;
  const MistakeSet& mistakes_;
  Positions positions_;
  View<const void> keep_, bias_;
  bool is_open_, causal_;
  std::int64_t left_ = kOpen,
               right_ = kOpen;  // of the window; a side that was narrowed may be −1: it sees nothing at p
};

// The options as somebody reads them who ignores some, or takes another corner. The spans and views are those of
// `options`.
AttentionOptions without_what_is_ignored(const AttentionShape& shape, const AttentionOptions& options,
                                         const MistakeSet& mistakes);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_VARIANT_MASK_H_
