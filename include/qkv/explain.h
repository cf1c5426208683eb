// Every number between the input and the output of a small problem, as a document. Text in, text out: every shell is a
// transport.
#ifndef QKV_EXPLAIN_H_
#define QKV_EXPLAIN_H_

#include <string>
#include <string_view>

#include "qkv/status.h"

#pragma GCC visibility push(default)
namespace qkv {

// Answers a JSON request with a JSON document; both are described in docs/explain.md.
//
// Constraints: a document holds every entry, so B Hq Tq Tk (and any input) may have at most 4 million elements.
// Errors: kInvalidArgument (not JSON, an unknown or contradictory field: the message gives its path),
//   kShapeMismatch (with the line of the shape table that broke), kUnsupported (more elements than a document holds).
// Numerics: the float64 reference. JSON has no −inf and no NaN: they are the strings "-Infinity" "Infinity" "NaN".
// Cost: O(Tq Tk) memory. Safe to call from several threads.
Result<std::string> explain(std::string_view request);

}  // namespace qkv
#pragma GCC visibility pop

#endif  // QKV_EXPLAIN_H_
