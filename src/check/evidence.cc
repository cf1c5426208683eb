// Judges one answer by the bounds of docs/semantics.md.
#include "src/check/evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "src/check/condition.h"
#include "src/check/layer_bounds.h"
#include "src/check/mistake_set.h"
#include "src/check/variant_mask.h"
#include "src/core/check_attention.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

// How far an lse may be off under the policies that count as right.
Result<Bound> lse_bound(const Case& asked, const AttentionOptions& options, DType output, const MistakeSet& accepted,
                        Bound bound) {
  if (accepted.has(MistakeId::kLseWithoutSink)) {
    AttentionOptions without = options;
    without.sinks = {};
    QKV_ASSIGN_OR_RETURN(const ForwardExpectation forward, expect_forward(asked.inputs(), without, output));
    bound = forward.lse;
  }
  if (accepted.has(MistakeId::kLseBaseTwo)) bound.absolute *= std::numbers::log2e;
  return bound;
}

// How far each tensor may be off: from the plain computation with the corner that is accepted.
Result<std::vector<NamedBound>> bounds_of(const Case& asked, DType output, const MistakeSet& accepted,
                                          const VariantResult& want) {
  if (is_layer(asked.problem)) return layer_bounds(asked);
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape,
                       check_attention(asked.inputs(), asked.options(), TypeRule::kSameType));
  AttentionOptions options = without_what_is_ignored(shape, asked.options(), accepted);
  if (asked.problem.corner == Corner::kUnset) options.corner = Corner::kUnset;  // nothing depends on one
  if (options.corner != Corner::kOffset) options.offset = 0;
  QKV_ASSIGN_OR_RETURN(const ForwardExpectation forward, expect_forward(asked.inputs(), options, output));
  QKV_ASSIGN_OR_RETURN(const Bound of_lse, lse_bound(asked, options, output, accepted, forward.lse));
  // The plain computation has no rows whose weights are a mean; o is one there, and dv sums theirs too.
  const bool has_means = accepted.has(MistakeId::kEmptyRowMean);
  Bound of_output = forward.o;
  if (has_means) of_output.absolute += forward_bound(output, 0, largest_finite(want.o)).absolute;
  // What a cache holds is a copy.
  std::vector<NamedBound> bounds{{"o", of_output}, {"lse", of_lse}, {"cache_k", {}}, {"cache_v", {}}};
  if (!asked.d_o.view.is_present()) return bounds;
  QKV_ASSIGN_OR_RETURN(const BackwardExpectation backward,
                       expect_backward(asked.inputs(), asked.d_o.view, asked.d_lse.view, options, output));
  Bound of_values = backward.dv;
  if (has_means) of_values.absolute += gradient_bound(output, 0, largest_finite(want.dv)).absolute;
  bounds.insert(bounds.end(), {{"dq", backward.dq},
                               {"dk", backward.dk},
                               {"dv", of_values},
                               {"dbias", backward.dbias},
                               {"dsinks", backward.dsinks}});
  return bounds;
}

// A result of ill-conditioned scores is as uncertain as they are: the most that changes when q is off by one rounding,
// in a few draws of its signs, is added to the bounds, once for each step that rounds in the one computation and in the
// other, and what failed is compared again.
Status forgive_condition(Evidence& evidence, std::span<const Mistake> accepted) {
  constexpr std::uint64_t kDraws = 8;
  constexpr double kSteps = 2 * kRoundedSteps;
  const std::vector<GivenTensor> given = given_tensors(evidence.answer.outputs, evidence.want);
  std::vector<double> changes(given.size());
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    QKV_ASSIGN_OR_RETURN(const VariantResult moved, nudged_variant(evidence.asked, accepted, draw));
    const std::vector<GivenTensor> other = given_tensors(evidence.answer.outputs, moved);
    for (std::size_t at = 0; at < given.size(); ++at)
      changes[at] = std::max(changes[at], largest_difference(*given[at].want, *other[at].want));
  }
  for (std::size_t at = 0; at < given.size(); ++at) {
    TensorVerdict& verdict = evidence.tensors[at];
    if (verdict.comparison.passed) continue;
    verdict.bound.absolute += kSteps * changes[at];
    QKV_ASSIGN_OR_RETURN(verdict.comparison, compare(given[at].got->view(), given[at].want->view(), verdict.bound));
  }
  return {};
}

}  // namespace

bool Evidence::failed() const { return !is_refused() && (!is_answered() || first_failure() != nullptr); }

const TensorVerdict* Evidence::first_failure() const {
  const auto found = std::ranges::find_if(tensors, [](const TensorVerdict& one) { return !one.comparison.passed; });
  return found == tensors.end() ? nullptr : &*found;
}

bool is_forward(std::string_view tensor) { return !tensor.starts_with('d'); }

std::vector<GivenTensor> given_tensors(const SubjectOutputs& outputs, const VariantResult& want) {
  std::vector<GivenTensor> all{{"o", &outputs.o, &want.o},
                               {"lse", &outputs.lse, &want.lse},
                               {"dq", &outputs.dq, &want.dq},
                               {"dk", &outputs.dk, &want.dk},
                               {"dv", &outputs.dv, &want.dv},
                               {"dbias", &outputs.dbias, &want.dbias},
                               {"dsinks", &outputs.dsinks, &want.dsinks},
                               {"cache_k", &outputs.cache_k, &want.cache_k},
                               {"cache_v", &outputs.cache_v, &want.cache_v}};
  for (const NamedLayerOutput& one : kLayerOutputs)
    all.push_back({one.name, &(outputs.layer.*one.member), &(want.layer.*one.member)});
  std::erase_if(all, [](const GivenTensor& one) { return !one.got->is_present() || !one.want->is_present(); });
  return all;
}

Result<Evidence> judge_answer(Case asked, SubjectAnswer answer, std::span<const Mistake> accepted) {
  Evidence evidence;
  evidence.asked = std::move(asked);
  evidence.answer = std::move(answer);
  const Case& one = evidence.asked;
  QKV_ASSIGN_OR_RETURN(evidence.want, compute_variant(one, accepted));
  if (!evidence.is_answered()) return evidence;
  QKV_ASSIGN_OR_RETURN(const std::vector<NamedBound> bounds,
                       bounds_of(one, output_type(one.problem), MistakeSet(accepted), evidence.want));
  for (const GivenTensor& given : given_tensors(evidence.answer.outputs, evidence.want)) {
    const auto bound = std::ranges::find(bounds, std::string_view(given.name), &NamedBound::name);
    Result<Comparison> comparison = compare(given.got->view(), given.want->view(), bound->bound);
    if (!comparison.is_ok()) {
      evidence.answer.end = SubjectEnd::kFailed;
      evidence.answer.message = std::string(given.name) + ": " + comparison.status().message();
      evidence.tensors.clear();
      return evidence;
    }
    evidence.tensors.push_back({given.name, bound->bound, *comparison});
  }
  if (evidence.failed()) QKV_RETURN_IF_ERROR(forgive_condition(evidence, accepted));
  return evidence;
}

}  // namespace qkv::check
