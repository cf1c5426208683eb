// What must hold of a cache, of a layer and of a norm.
#include <algorithm>
#include <cmath>
#include <utility>

#include "src/check/invariant_asker.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

// The same step twice, where the slots without a token hold ordinary numbers and where they hold `value`.
Result<Invariant> stale_slots(const Asker& asker, double value) {
  const bool is_nan = std::isnan(value);
  Problem problem = asker.problem();
  if (problem.dtype == DType::kF16 && !is_nan) value = 6e4;
  Invariant found{is_nan ? "nan_in_unused_slots" : "poison_in_unused_slots",
                  is_nan ? "NaN in the slots of the cache that hold no token changes nothing"
                         : "huge numbers in the slots of the cache that hold no token change nothing",
                  false, 0, 0};
  problem.key_lengths = {problem.key_length - 1, 2};
  QKV_ASSIGN_OR_RETURN(const Case plain, generate(problem));
  QKV_ASSIGN_OR_RETURN(Case poisoned, generate(problem));
  for (Placed* tensor : {&poisoned.stale_k, &poisoned.stale_v}) {
    QKV_ASSIGN_OR_RETURN(*tensor, refilled(*tensor, problem.layout, [value](auto...) { return value; }));
  }
  QKV_RETURN_IF_ERROR(asker.expect_same(plain, poisoned, found));
  return found;
}

// The batch entries exchanged exchange the results.
Result<Invariant> batches(const Asker& asker) {
  Invariant found{"batches", "a batch of two is two batches", false, 0, asker.bound()};
  QKV_ASSIGN_OR_RETURN(const Case plain, generate(asker.problem()));
  QKV_ASSIGN_OR_RETURN(Case turned, generate(asker.problem()));
  const std::int64_t last = plain.problem.batch - 1;
  const Values old = values_of(plain.layer.x);
  QKV_ASSIGN_OR_RETURN(turned.layer.x, refilled(plain.layer.x, Layout::kBHTD,
                                                [&](std::int64_t a, std::int64_t b, std::int64_t t, std::int64_t c) {
                                                  return old(a, last - b, t, c);
                                                }));
  QKV_ASSIGN_OR_RETURN(const auto both, asker.ask_both(plain, turned));
  if (!both) return found;
  found.was_asked = true;
  const Tensor& y = both->one.layer.y;
  const std::int64_t entry = y.size() / plain.problem.batch;
  for (std::int64_t i = 0; i < y.size(); ++i)
    grow(found.deviation,
         std::fabs(element_as_double(y.view(), i) -
                   element_as_double(both->other.layer.y.view(), (last - i / entry) * entry + i % entry)));
  return found;
}

// A causal layer whose last token is NaN.
Result<Invariant> later_tokens(const Asker& asker) {
  Invariant found{"later_tokens", "NaN in the last token of a causal layer changes no row before it", false, 0, 0};
  Problem problem = asker.problem();
  problem.causality = Causality::kCausal;
  QKV_ASSIGN_OR_RETURN(const Case plain, generate(problem));
  QKV_ASSIGN_OR_RETURN(Case poisoned, generate(problem));
  const std::int64_t last = problem.query_length - 1;
  const Values old = values_of(plain.layer.x);
  QKV_ASSIGN_OR_RETURN(poisoned.layer.x, refilled(plain.layer.x, Layout::kBHTD,
                                                  [&](std::int64_t a, std::int64_t b, std::int64_t t, std::int64_t c) {
                                                    return t == last ? kNan : old(a, b, t, c);
                                                  }));
  QKV_ASSIGN_OR_RETURN(const auto both, asker.ask_both(plain, poisoned));
  if (!both) return found;
  found.was_asked = true;
  const Tensor& y = both->one.layer.y;
  const std::int64_t width = y.shape()[2];
  for (std::int64_t i = 0; i < y.size(); ++i)
    if (i / width % problem.query_length != last)
      grow(found.deviation,
           std::fabs(element_as_double(y.view(), i) - element_as_double(both->other.layer.y.view(), i)));
  return found;
}

// A norm takes the mean away, so that nothing that is added to a row has a gradient.
Result<Invariant> norm_gradients(const Asker& asker) {
  Invariant found{"norm_gradient_rows", "every row of the norm's dx sums to 0", false, 0, asker.bound()};
  const Problem problem = asker.problem();
  if (!problem.backward) return found;
  QKV_ASSIGN_OR_RETURN(const Case asked, generate(problem));
  QKV_ASSIGN_OR_RETURN(const auto answer, asker.ask(asked));
  if (!answer || !answer->layer.dx.is_present()) return found;
  found.was_asked = true;
  const Tensor& dx = answer->layer.dx;
  const std::int64_t width = dx.shape()[2];
  for (std::int64_t row = 0; row < dx.size() / width; ++row) {
    double sum = 0;
    for (std::int64_t c = 0; c < width; ++c) sum += element_as_double(dx.view(), row * width + c);
    grow(found.deviation, std::fabs(sum));
  }
  return found;
}

}  // namespace

Result<std::vector<Invariant>> decode_invariants(const Asker& asker) {
  std::vector<Invariant> all;
  for (const double value : {1e30, kNan}) {
    QKV_ASSIGN_OR_RETURN(const Invariant found, stale_slots(asker, value));
    all.push_back(found);
  }
  return all;
}

Result<std::vector<Invariant>> layer_invariants(const Asker& asker) {
  const bool is_norm = asker.problem().operation == Operation::kLayerNorm;
  std::vector<Invariant> all;
  for (const auto invariant : {batches, is_norm ? norm_gradients : later_tokens, taylor_remainder}) {
    QKV_ASSIGN_OR_RETURN(const Invariant found, invariant(asker));
    all.push_back(found);
  }
  return all;
}

}  // namespace qkv::check
