// One row of a call of attention as a call of its own: the keys that its sequence has, and where it stands among them.
#ifndef QKV_SRC_SURVEY_ROW_SLICE_H_
#define QKV_SRC_SURVEY_ROW_SLICE_H_

#include <cstdint>

#include "qkv/attention.h"
#include "src/core/positions.h"

namespace qkv {

struct RowSlice {
  AttentionInputs inputs;  // q [1,Hq,1,D], k and v [1,Hkv,keys,·]
  AttentionOptions options;
  std::int64_t first_key;  // of the call's keys

  // Constraint: the call was checked; `sequence` is that of the row.
  RowSlice(const AttentionInputs& all, const AttentionOptions& given, const Sequence& sequence, std::int64_t batch,
           std::int64_t row);
};

}  // namespace qkv

#endif  // QKV_SRC_SURVEY_ROW_SLICE_H_
