// What would tell two mistakes apart that the probes do not.
#ifndef QKV_SRC_CHECK_TELL_APART_H_
#define QKV_SRC_CHECK_TELL_APART_H_

#include <optional>
#include <span>

#include "qkv/problem.h"
#include "src/check/mistake.h"

namespace qkv::check {

// The first problem on which the outputs differ under the one and the other, among larger and squarer versions of
// `problem`, the smallest first; nothing if none of them does.
// Cost: two variants of each problem that is tried.
Result<std::optional<Problem>> told_apart_by(const Problem& problem, std::span<const Mistake> one,
                                             std::span<const Mistake> other);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_TELL_APART_H_
