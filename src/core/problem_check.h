// Whether the words of a Problem make sense together.
#ifndef QKV_SRC_CORE_PROBLEM_CHECK_H_
#define QKV_SRC_CORE_PROBLEM_CHECK_H_

#include "qkv/problem.h"
#include "qkv/status.h"

namespace qkv {

// Errors: kInvalidArgument, "problem: keep=2x7 does not broadcast to [B,Hq,Tq,Tk] = [1,1,3,5]".
Status check_problem(const Problem& problem);

}  // namespace qkv

#endif  // QKV_SRC_CORE_PROBLEM_CHECK_H_
