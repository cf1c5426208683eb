// How much of all errors together a mistake takes away: tells what no single element can.
#ifndef QKV_SRC_CHECK_ERROR_LEFT_H_
#define QKV_SRC_CHECK_ERROR_LEFT_H_

#include <cstdint>
#include <optional>
#include <span>

#include "src/check/match.h"
#include "src/check/mistake.h"

namespace qkv::check {

// Sums of squared errors, each error in bounds, over the elements that the mistakes change by a tenth of their bound or
// more: from what is wanted, and from what the mistakes give.
struct ErrorLeft {
  double before = 0, after = 0;
  std::int64_t elements = 0;
  int probes = 0;  // that hold them

  double share() const { return before > 0 ? after / before : 1; }
  // Three quarters are gone. Rounding does not come to that: in 24 elements and more it would have to point where the
  // mistake points.
  bool explains() const;
  // Whether `other` may be meant all the same: it leaves no more than four standard deviations of rounding tell.
  bool is_as_good(const ErrorLeft& other) const;
};

// Over answered probes; nothing if the mistakes are refuted, by an error that is left and no rounding.
// Errors: as compute_variant. Cost: a variant for each probe up to the one that refutes.
Result<std::optional<ErrorLeft>> error_left(std::span<const Evidence* const> evidence,
                                            std::span<const Mistake> mistakes, Compared compared);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_ERROR_LEFT_H_
