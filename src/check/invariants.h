// What must hold whatever the numbers are: asked of the implementation itself, without a reference.
#ifndef QKV_SRC_CHECK_INVARIANTS_H_
#define QKV_SRC_CHECK_INVARIANTS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/check/mistake.h"
#include "src/check/probes.h"
#include "src/check/subject.h"

namespace qkv::check {

struct Invariant {
  std::string_view name;   // snake case: "ones_give_ones"
  std::string_view words;  // "v = 1 gives o = 1 (the weights of a row sum to 1)"
  bool was_asked = false;  // false: the implementation refused what it needs
  double deviation = 0;    // the largest, NaN where a number was expected and none came
  double bound = 0;
  bool is_policy = false;  // a broken one is told, and is no mistake
  bool holds() const { return !was_asked || deviation <= bound; }
};

// Asks the subject two or three problems for each. `accepted` are policies that count as right: where the corner is
// always the top left one, a row alone is not the row of a causal pass, and is not asked for. Errors: as Subject::run.
Result<std::vector<Invariant>> ask_invariants(Subject& subject, const ProbeOptions& options,
                                              std::span<const Mistake> accepted);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_INVARIANTS_H_
