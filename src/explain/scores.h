// Scores of a whole matrix, drawn at random as part 7 of the lesson does: why they are divided by √d_k.
#ifndef QKV_SRC_EXPLAIN_SCORES_H_
#define QKV_SRC_EXPLAIN_SCORES_H_

#include <string>

#include "qkv/status.h"
#include "src/explain/json_read.h"

namespace qkv {

// Answers a request with "op": "scores", described in docs/explain.md; the weights are the reference's.
// Errors: kInvalidArgument: an unknown field, a size out of its range, targets that do not fit.
Result<std::string> explain_scores(const Json& json);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_SCORES_H_
