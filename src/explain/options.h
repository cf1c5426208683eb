// The options of attention as the fields of a request. What takes them, explain or another, has them under these names.
#ifndef QKV_SRC_EXPLAIN_OPTIONS_H_
#define QKV_SRC_EXPLAIN_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/options.h"
#include "qkv/status.h"
#include "src/explain/fields.h"

namespace qkv {

// What the spans of AttentionOptions look at.
struct OptionLists {
  std::vector<std::int64_t> key_lengths, cu_seqlens_q, cu_seqlens_k;
  std::vector<double> slopes, sinks;

  // Constraint: this outlives what is done with `options`.
  void bind_to(AttentionOptions& options) const;
};

// Every field that read_options() reads.
const std::vector<std::string>& option_names();

// Fills everything but the tensors keep, key_mask and bias, and the spans. Errors: kInvalidArgument with the path.
Status read_options(const Fields& fields, AttentionOptions& options, OptionLists& lists);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_OPTIONS_H_
