// The rules of docs/semantics.md for one row, pair by pair: which keys are seen, and what is added to a score.
#ifndef QKV_SRC_OPS_ATTENTION_ATTENTION_REF_RULES_H_
#define QKV_SRC_OPS_ATTENTION_ATTENTION_REF_RULES_H_

#include <cstdint>

#include "qkv/options.h"
#include "src/core/check_attention.h"

namespace qkv::reference {

struct RowIndex {
  std::int64_t b = 0, h = 0, i = 0;
};

// Written straight from the definition and apart from src/core/positions.h, whose key ranges it is used to check.
// Constraint: check_attention() passed; shape and options outlive the object.
class RowRules {
 public:
  RowRules(const AttentionShape& shape, const AttentionOptions& options, RowIndex row);

  // Whether query (b, h, i) may see key j: the conjunction of everything that was given.
  bool allowed(std::int64_t j) const;

  // bias(i,j) − slope_h |p_i − j|; 0 if there is neither.
  double bias(std::int64_t j) const;

 private:
  bool allowed_by_position(std::int64_t j) const;
  bool allowed_by_masks(std::int64_t j) const;
  void find_sequence();

  const AttentionShape& shape_;
  const AttentionOptions& options_;
  RowIndex row_;
  std::int64_t key_begin_ = 0, key_end_ = 0;  // the keys of this row's sequence that exist
  std::int64_t position_ = 0;                 // p_i, in key coordinates
  View<const void> keep_, bias_;              // broadcast to [B,Hq,Tq,Tk]
};

}  // namespace qkv::reference

#endif  // QKV_SRC_OPS_ATTENTION_ATTENTION_REF_RULES_H_
