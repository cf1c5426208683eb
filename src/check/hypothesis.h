// What one hypothesis says of one probe: the answer that came, or what is right.
#ifndef QKV_SRC_CHECK_HYPOTHESIS_H_
#define QKV_SRC_CHECK_HYPOTHESIS_H_

#include <optional>
#include <span>
#include <vector>

#include "src/check/evidence.h"
#include "src/check/match.h"
#include "src/check/mistake.h"

namespace qkv::check {

using Hypothesis = std::vector<NamedMistake>;  // all of them at once

// How far an answer is from what a hypothesis says of it.
struct Distance {
  double error = 0, of_tolerance = 0;  // the largest, and the largest share of what is forgiven
};

// Nothing if the hypothesis does not reproduce the answer. Errors: as compute_variant.
Result<std::optional<Distance>> distance_of(const Evidence& one, const Hypothesis& hypothesis,
                                            std::span<const Mistake> accepted, Compared compared);

// Whether a hypothesis says of a probe that passed that it passes: what it gives is what is wanted. (Not: what was
// given, which may differ by as much as rounding may.)
Result<bool> leaves_right(const Evidence& one, const Hypothesis& hypothesis, std::span<const Mistake> accepted,
                          Compared compared);

// Whether a hypothesis says of a probe that failed that it fails, and no less exactly than it says so: one whose effect
// is within what the match forgives must come nearer to the answer than what is right does.
Result<bool> tells_failure(const Evidence& one, const Hypothesis& hypothesis, std::span<const Mistake> accepted,
                           Compared compared);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_HYPOTHESIS_H_
