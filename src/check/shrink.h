// The smallest problem that still shows the mistake.
#ifndef QKV_SRC_CHECK_SHRINK_H_
#define QKV_SRC_CHECK_SHRINK_H_

#include <functional>
#include <vector>

#include "qkv/problem.h"
#include "qkv/status.h"

namespace qkv::check {

// Makes masks, biases and key lengths that fitted the sizes of `before` fit those of `after`; broadcast axes stay so.
void follow_sizes(const Problem& before, Problem& after);

// Problems one step simpler: an option left away, a size made smaller. All of them are valid.
std::vector<Problem> simpler(const Problem& problem);

// Steps to simpler problems while `still_fails` says so, until none does.
// Cost: at most `most_questions` calls. Errors: those of `still_fails`.
Result<Problem> shrink(Problem problem, const std::function<Result<bool>(const Problem&)>& still_fails,
                       int most_questions = 300);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_SHRINK_H_
