// Changes to single rows or entries of a request's inputs: `v[river]=0,1`, `q[1,0]=2`.
#ifndef QKV_SRC_EXPLAIN_EDIT_H_
#define QKV_SRC_EXPLAIN_EDIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/status.h"
#include "src/explain/request.h"

namespace qkv {

// What an edit did.
struct Edit {
  std::string text;   // as it was given
  std::string input;  // "v"
  std::int64_t row = 0;
  std::int64_t column = -1;  // -1: the whole row
  std::vector<double> before, after;
};

// Applies request.edits in order to the chosen head (and KV head) of the batch entry and says what they did.
// Grammar: NAME[ROW]=n,n,... gives a whole row, NAME[ROW,COLUMN]=n one entry; NAME[ROW]=n for an input of one axis.
// Errors: kInvalidArgument: no such input, row or column; the wrong number of values; something that is no number.
Result<std::vector<Edit>> apply_edits(Request& request);

}  // namespace qkv

#endif  // QKV_SRC_EXPLAIN_EDIT_H_
