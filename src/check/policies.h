// Questions that libraries answer differently: which answer an implementation gives is found, not assumed.
#ifndef QKV_SRC_CHECK_POLICIES_H_
#define QKV_SRC_CHECK_POLICIES_H_

#include <span>
#include <string_view>
#include <vector>

#include "src/check/diagnose.h"
#include "src/check/evidence.h"

namespace qkv::check {

struct PolicyFound {
  std::string_view question;  // "empty row"
  std::string_view answer;    // "0", "NaN", "the mean of v"; "none of these" where no answer fits
  int probes = 0;             // that tell the answers apart; 0: the question was not asked
  int agreeing = 0;           // of those, that fit `answer`
  bool is_ours = true;        // the answer of docs/semantics.md
};

// For each question, the answer that reproduces the most of the probes that tell the answers apart, under the mistakes
// that were found.
Result<std::vector<PolicyFound>> find_policies(std::span<const Evidence> evidence, std::span<const Mistake> found);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_POLICIES_H_
