// What the invariants are made of: a case with other values, and the implementation's answer to it.
#ifndef QKV_SRC_CHECK_INVARIANT_ASKER_H_
#define QKV_SRC_CHECK_INVARIANT_ASKER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include "src/check/evidence.h"
#include "src/check/invariants.h"
#include "src/check/probes.h"
#include "src/check/subject.h"

namespace qkv::check {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Values by index, of any rank; what has less than four axes is seen as [1,...].
using Values = std::function<double(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d)>;

// The tensor with other values, placed as the problem's tensors are.
Result<Placed> refilled(const Placed& old, Layout layout, const Values& values);

// The present values of a tensor. Constraint: it lives.
Values values_of(const Placed& placed);

// The largest difference of two tensors; NaN if their shapes or their NaNs differ.
double difference(const Tensor& a, const Tensor& b);

// The larger one; NaN once there was one.
void grow(double& most, double value);

class Asker {
 public:
  Asker(Subject& subject, const ProbeOptions& options) : subject_(subject), options_(options) {}

  // The operation's first probe with a seed of its own.
  Problem problem() const;
  // Empty if it was refused or went wrong: the probes tell of that.
  Result<std::optional<SubjectOutputs>> ask(const Case& asked) const;
  // Both answers; empty if either is.
  struct Two {
    SubjectOutputs one, other;
  };
  Result<std::optional<Two>> ask_both(const Case& one, const Case& other) const;
  // Asks both, and notes how far o of the one is from o of the other.
  Status expect_same(const Case& one, const Case& other, Invariant& found) const;
  // What rounding may change in a sum of numbers about 1.
  double bound() const;

 private:
  Subject& subject_;
  ProbeOptions options_;
};

// Of everything that has gradients, in f32 and f64: the order of the Taylor remainder, which is 2 where they are right
// and 1 where not; `deviation` is how much less than 2 it is. Source: Farrell et al. 2013 (doi:10.1137/120873558).
Result<Invariant> taylor_remainder(const Asker& asker);

// Of a decode, a layer and a layernorm; ask_invariants() asks them.
Result<std::vector<Invariant>> decode_invariants(const Asker& asker);
Result<std::vector<Invariant>> layer_invariants(const Asker& asker);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_INVARIANT_ASKER_H_
