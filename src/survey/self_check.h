// Whether what was captured can be computed again: sampled rows of o beside those that a model returned.
#ifndef QKV_SRC_SURVEY_SELF_CHECK_H_
#define QKV_SRC_SURVEY_SELF_CHECK_H_

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/attention.h"

namespace qkv {

// max |o − o′| of every head [B,Hq] over the queries `rows`, where o′ is computed anew from q, k and v. NaN beside NaN
// is no difference, NaN beside a number an infinite one. Shapes: inputs as attention_forward's; o [B,Hq,R,Dv], row r of
// it that of query rows[r], any floating type. Errors: as attention_forward; kShapeMismatch for an o or rows that do
// not fit. Cost: one call of attention a row and batch entry, whose memory is O(Hq Dv).
Result<std::vector<double>> worst_differences(const AttentionInputs& inputs, const View<const void>& o,
                                              std::span<const std::int64_t> rows, const AttentionOptions& options = {},
                                              const Execution& execution = {});

}  // namespace qkv

#endif  // QKV_SRC_SURVEY_SELF_CHECK_H_
