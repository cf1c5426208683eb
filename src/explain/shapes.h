// The shape of every matrix of a layer, as the lesson tabulates it, and what is behind a shape that does not fit.
#ifndef QKV_SRC_EXPLAIN_SHAPES_H_
#define QKV_SRC_EXPLAIN_SHAPES_H_

#include <string>

#include "qkv/status.h"
#include "src/explain/json_read.h"

namespace qkv {

// Answers a request with "op": "shapes": sizes n C heads kv_heads D Dv B T, or a preset, and under "found" the shapes
// that somebody has. Described in docs/explain.md. A broken shape is an answer, not an error.
// Errors: kInvalidArgument: an unknown field, a size that is no whole number from 1 to a billion.
Result<std::string> explain_shapes(const Json& request);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_SHAPES_H_
