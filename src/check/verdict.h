// What a run comes to: right, wrong or cannot judge, and the sentence that says why.
#ifndef QKV_SRC_CHECK_VERDICT_H_
#define QKV_SRC_CHECK_VERDICT_H_

#include <string>

#include "src/check/check.h"

namespace qkv::check {

// Of a report that has everything else but its headline.
Verdict verdict_of(const CheckReport& report);

// "WRONG: equals attention with the scale applied twice; 39 of 41 probes fail, first: ...". Constraint: the report has
// its verdict.
std::string headline_of(const CheckReport& report);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_VERDICT_H_
