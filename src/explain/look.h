// Where to look: the row and the head of a request, checked, and the sizes that a document states.
#ifndef QKV_SRC_EXPLAIN_LOOK_H_
#define QKV_SRC_EXPLAIN_LOOK_H_

#include <cstdint>

#include "qkv/reference.h"
#include "qkv/status.h"
#include "src/explain/request.h"

namespace qkv {

struct Look {
  std::int64_t row = 0;      // of the queries; the last unless the request says
  std::int64_t head = 0;     // a query head; the first unless the request says
  std::int64_t kv_head = 0;  // the one that it reads
};

// Refuses what a document could not hold, before anything of that size is allocated.
// Errors: kUnsupported with the size.
Status check_size(const Request& request);

// Errors: kInvalidArgument: head or row outside or unknown; kShapeMismatch: as many tokens as rows are needed.
Result<Look> find_look(const Request& request, const Trace& trace);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_LOOK_H_
