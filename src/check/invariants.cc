// Each invariant: a case, the same case changed, and how far the two answers are apart.
#include "src/check/invariants.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "src/check/invariant_asker.h"
#include "src/check/mistake_set.h"
#include "src/check/variant.h"
#include "src/check/variant_inputs.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

Result<Invariant> ones(const Asker& asker) {
  Invariant found{"ones_give_ones", "v = 1 gives o = 1: the weights of a row sum to 1", false, 0, asker.bound()};
  QKV_ASSIGN_OR_RETURN(Case asked, generate(asker.problem()));
  QKV_ASSIGN_OR_RETURN(asked.v, refilled(asked.v, asked.problem.layout, [](auto...) { return 1.0; }));
  QKV_ASSIGN_OR_RETURN(const auto answer, asker.ask(asked));
  if (!answer) return found;
  found.was_asked = true;
  for (std::int64_t i = 0; i < answer->o.size(); ++i)
    grow(found.deviation, std::fabs(element_as_double(answer->o.view(), i) - 1));
  return found;
}

Result<Invariant> permuted_keys(const Asker& asker) {
  Invariant found{"key_order", "keys, values and masks in another order give the same", false, 0, asker.bound()};
  Problem problem = asker.problem();
  problem.key_mask = true;
  QKV_ASSIGN_OR_RETURN(const Case asked, generate(problem));
  QKV_ASSIGN_OR_RETURN(const auto before, asker.ask(asked));
  if (!before) {
    problem.key_mask = false;
  }
  QKV_ASSIGN_OR_RETURN(Case plain, generate(problem));
  QKV_ASSIGN_OR_RETURN(Case moved, generate(problem));
  const std::int64_t keys = problem.key_length;
  const auto from = [keys](std::int64_t j) { return (j * 2 + 1) % keys; };  // an order of an odd number of keys
  for (Placed* tensor : {&moved.k, &moved.v}) {
    const Values old = values_of(*tensor);
    QKV_ASSIGN_OR_RETURN(
        *tensor, refilled(*tensor, problem.layout, [&](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
          return old(a, b, from(c), d);
        }));
  }
  if (problem.key_mask) {
    const Values old = values_of(moved.key_mask);
    QKV_ASSIGN_OR_RETURN(moved.key_mask, refilled(moved.key_mask, Layout::kBHTD,
                                                  [&](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
                                                    return old(a, b, c, from(d));
                                                  }));
  }
  QKV_RETURN_IF_ERROR(asker.expect_same(plain, moved, found));
  return found;
}

// The batch entry `b` of a case, alone.
Result<Case> entry_of(const Case& whole, std::int64_t b) {
  Problem problem = whole.problem;
  problem.batch = 1;
  QKV_ASSIGN_OR_RETURN(Case alone, generate(problem));
  for (const auto& [from, to] : {std::pair{&whole.q, &alone.q}, std::pair{&whole.k, &alone.k},
                                 std::pair{&whole.v, &alone.v}, std::pair{&whole.d_o, &alone.d_o}}) {
    if (!from->view.is_present()) continue;
    const Values old = values_of(*from);
    QKV_ASSIGN_OR_RETURN(
        *to, refilled(*to, problem.layout,
                      [&](std::int64_t, std::int64_t h, std::int64_t t, std::int64_t c) { return old(b, h, t, c); }));
  }
  return alone;
}

Result<Invariant> batches(const Asker& asker) {
  Invariant found{"batch_entries", "a batch of two is two batches of one", false, 0, asker.bound()};
  QKV_ASSIGN_OR_RETURN(const Case whole, generate(asker.problem()));
  QKV_ASSIGN_OR_RETURN(const auto together, asker.ask(whole));
  if (!together) return found;
  for (std::int64_t b = 0; b < whole.problem.batch; ++b) {
    QKV_ASSIGN_OR_RETURN(const Case alone, entry_of(whole, b));
    QKV_ASSIGN_OR_RETURN(const auto answer, asker.ask(alone));
    if (!answer) return found;
    const std::int64_t count = answer->o.size();
    for (std::int64_t i = 0; i < count; ++i) {
      grow(found.deviation,
           std::fabs(element_as_double(answer->o.view(), i) - element_as_double(together->o.view(), b * count + i)));
    }
  }
  found.was_asked = true;
  return found;
}

Result<Invariant> shifted_rows(const Asker& asker) {
  Invariant found{"row_shift", "a constant added to a row of scores changes nothing", false, 0, asker.bound()};
  Problem problem = asker.problem();
  problem.bias = Dims{problem.query_heads, problem.query_length, problem.key_length};
  QKV_ASSIGN_OR_RETURN(const Case plain, generate(problem));
  QKV_ASSIGN_OR_RETURN(Case shifted, generate(problem));
  const Values old = values_of(shifted.bias);
  QKV_ASSIGN_OR_RETURN(
      shifted.bias,
      refilled(shifted.bias, Layout::kBHTD, [&](std::int64_t a, std::int64_t h, std::int64_t i, std::int64_t j) {
        return old(a, h, i, j) + 0.5 * static_cast<double>(i + h);  // halves: exact where the bias is
      }));
  QKV_RETURN_IF_ERROR(asker.expect_same(plain, shifted, found));
  return found;
}

// Whether the padding mask takes key j of an entry away. `spares_empty`: not if it takes all of them, since a row
// without a key then gives the mean of v.
bool is_behind_mask(const Values& seen, std::int64_t keys, std::int64_t b, std::int64_t j, bool spares_empty) {
  bool is_empty = true;
  for (std::int64_t other = 0; other < keys; ++other) is_empty = is_empty && seen(0, 0, b, other) == 0;
  return seen(0, 0, b, j) == 0 && !(spares_empty && is_empty);
}

// k and v of the keys that no query may see, replaced.
Result<Invariant> poison(const Asker& asker, double value, bool spares_empty) {
  const bool is_nan = std::isnan(value);
  Problem problem = asker.problem();
  const bool is_narrow = problem.dtype == DType::kF16 && !is_nan;  // 1e30 would be an infinity
  if (is_narrow) value = 6e4;
  Invariant found{is_nan ? "nan_behind_the_mask" : "poison_behind_the_mask",
                  is_nan      ? "NaN in k and v behind the mask changes nothing"
                  : is_narrow ? "6e4 in k and v behind the mask changes nothing"
                              : "1e30 in k and v behind the mask changes nothing",
                  false,
                  0,
                  0,
                  is_nan};
  problem.key_mask = true;
  QKV_ASSIGN_OR_RETURN(const Case plain, generate(problem));
  QKV_ASSIGN_OR_RETURN(Case poisoned, generate(problem));
  const Values seen = values_of(poisoned.key_mask);
  for (Placed* tensor : {&poisoned.k, &poisoned.v}) {
    const Values old = values_of(*tensor);
    QKV_ASSIGN_OR_RETURN(
        *tensor, refilled(*tensor, problem.layout, [&](std::int64_t b, std::int64_t h, std::int64_t j, std::int64_t c) {
          return is_behind_mask(seen, problem.key_length, b, j, spares_empty) ? value : old(b, h, j, c);
        }));
  }
  QKV_RETURN_IF_ERROR(asker.expect_same(plain, poisoned, found));
  return found;
}

// A bias of the least number in every column of row 0 takes what q and k say away, and hides nothing.
Result<Invariant> finite_bias(const Asker& asker) {
  constexpr double kLeast = -3.3895313892515355e38;  // of bf16, and near that of f32
  Invariant found{"finite_bias_hides_nothing",
                  "a bias of −3.4e38 for a whole row gives the mean of v, not NaN or 0",
                  false,
                  0,
                  asker.bound(),
                  true};
  Problem problem = asker.problem();
  if (problem.dtype == DType::kF16) return found;  // its least number leaves scores as they are
  problem.bias = Dims{problem.query_length, problem.key_length};
  QKV_ASSIGN_OR_RETURN(Case biased, generate(problem));
  const Values old = values_of(biased.bias);
  QKV_ASSIGN_OR_RETURN(biased.bias, refilled(biased.bias, Layout::kBHTD,
                                             [&](std::int64_t a, std::int64_t b, std::int64_t i, std::int64_t j) {
                                               return i == 0 ? kLeast : old(a, b, i, j);
                                             }));
  QKV_ASSIGN_OR_RETURN(const VariantResult wanted, compute_variant(biased, {}));
  QKV_ASSIGN_OR_RETURN(const auto given, asker.ask(biased));
  if (!given) return found;
  found.was_asked = true;
  found.deviation = difference(given->o, wanted.o);
  return found;
}

Result<Invariant> decoded_rows(const Asker& asker) {
  Invariant found{"prefill_is_decode", "a causal pass is its rows, one query at a time", false, 0, asker.bound()};
  Problem problem = asker.problem();
  problem.query_length = problem.key_length;
  problem.causality = Causality::kCausal;
  QKV_ASSIGN_OR_RETURN(const Case whole, generate(problem));
  QKV_ASSIGN_OR_RETURN(const auto together, asker.ask(whole));
  if (!together) return found;
  for (std::int64_t i = 0; i < problem.query_length; ++i) {
    Problem one = problem;
    one.query_length = 1;
    one.key_length = i + 1;
    one.corner = Corner::kBottomRight;
    QKV_ASSIGN_OR_RETURN(Case row, generate(one));
    const auto take = [&](Placed& to, const Placed& from, std::int64_t skip) -> Status {
      const Values old = values_of(from);
      QKV_ASSIGN_OR_RETURN(
          to, refilled(to, one.layout, [&](std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t c) {
            return old(b, h, t + skip, c);
          }));
      return {};
    };
    QKV_RETURN_IF_ERROR(take(row.q, whole.q, i));
    QKV_RETURN_IF_ERROR(take(row.k, whole.k, 0));
    QKV_RETURN_IF_ERROR(take(row.v, whole.v, 0));
    if (whole.d_o.view.is_present()) QKV_RETURN_IF_ERROR(take(row.d_o, whole.d_o, i));
    QKV_ASSIGN_OR_RETURN(const auto answer, asker.ask(row));
    if (!answer) return found;
    const View<const void> all = together->o.view();
    for (std::int64_t b = 0; b < one.batch; ++b)
      for (std::int64_t h = 0; h < one.query_heads; ++h)
        for (std::int64_t c = 0; c < one.value_width; ++c) {
          const std::int64_t head = b * one.query_heads + h;
          grow(found.deviation,
               std::fabs(element_as_double(answer->o.view(), head * one.value_width + c) -
                         element_as_double(all, (head * problem.query_length + i) * one.value_width + c)));
        }
  }
  found.was_asked = true;
  return found;
}

Result<Invariant> unseen_keys(const Asker& asker, bool spares_empty) {
  Invariant found{"unseen_keys", "keys that no query sees get no gradient", false, 0, 0};
  Problem problem = asker.problem();
  if (!problem.backward) return found;
  problem.key_mask = true;
  QKV_ASSIGN_OR_RETURN(const Case asked, generate(problem));
  QKV_ASSIGN_OR_RETURN(const auto answer, asker.ask(asked));
  if (!answer || !answer->dk.is_present() || !answer->dv.is_present()) return found;
  const Values seen = values_of(asked.key_mask);
  found.was_asked = true;
  for (const Tensor* gradient : {&answer->dk, &answer->dv}) {
    const std::int64_t width = gradient->shape()[3];
    for (std::int64_t i = 0; i < gradient->size(); ++i) {
      const std::int64_t j = i / width % problem.key_length;
      const std::int64_t b = i / width / problem.key_length / problem.kv_heads;
      if (is_behind_mask(seen, problem.key_length, b, j, spares_empty))
        grow(found.deviation, std::fabs(element_as_double(gradient->view(), i)));
    }
  }
  return found;
}

Result<Invariant> score_gradients(const Asker& asker) {
  Invariant found{"score_gradient_rows", "every row of the scores' gradient sums to 0", false, 0, asker.bound()};
  Problem problem = asker.problem();
  if (!problem.backward) return found;
  problem.bias = Dims{problem.batch, problem.query_heads, problem.query_length, problem.key_length};
  QKV_ASSIGN_OR_RETURN(const Case asked, generate(problem));
  QKV_ASSIGN_OR_RETURN(const auto answer, asker.ask(asked));
  if (!answer || !answer->dbias.is_present()) return found;
  found.was_asked = true;
  for (std::int64_t row = 0; row < answer->dbias.size() / problem.key_length; ++row) {
    double sum = 0;
    for (std::int64_t j = 0; j < problem.key_length; ++j)
      sum += element_as_double(answer->dbias.view(), row * problem.key_length + j);
    grow(found.deviation, std::fabs(sum));
  }
  return found;
}

}  // namespace

Result<std::vector<Invariant>> ask_invariants(Subject& subject, const ProbeOptions& options,
                                              std::span<const Mistake> accepted) {
  const Asker asker(subject, options);
  if (options.operation == Operation::kDecode) return decode_invariants(asker);
  if (options.operation != Operation::kAttention) return layer_invariants(asker);
  std::vector<Invariant> all;
  const auto add = [&](Result<Invariant> found) -> Status {
    if (!found.is_ok()) return found.status();
    all.push_back(*found);
    return {};
  };
  QKV_RETURN_IF_ERROR(add(ones(asker)));
  QKV_RETURN_IF_ERROR(add(permuted_keys(asker)));
  QKV_RETURN_IF_ERROR(add(batches(asker)));
  QKV_RETURN_IF_ERROR(add(shifted_rows(asker)));
  const bool has_own_corner = MistakeSet(accepted).has(MistakeId::kCornerTopLeft);
  if (!has_own_corner) QKV_RETURN_IF_ERROR(add(decoded_rows(asker)));
  const bool gives_mean = MistakeSet(accepted).has(MistakeId::kEmptyRowMean);
  QKV_RETURN_IF_ERROR(add(poison(asker, 1e30, gives_mean)));
  QKV_RETURN_IF_ERROR(add(poison(asker, kNan, gives_mean)));
  QKV_RETURN_IF_ERROR(add(finite_bias(asker)));
  QKV_RETURN_IF_ERROR(add(unseen_keys(asker, gives_mean)));
  QKV_RETURN_IF_ERROR(add(score_gradients(asker)));
  QKV_RETURN_IF_ERROR(add(taylor_remainder(asker)));
  return all;
}

}  // namespace qkv::check
