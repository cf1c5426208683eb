// Judges one answer by the bounds of docs/semantics.md.
#include "src/check/evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "src/check/condition.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

struct NamedBound {
  const char* name;
  Bound bound;
};

Result<VariantResult> variant_off_by_a_rounding(const Case& asked, std::span<const Mistake> mistakes) {
  QKV_ASSIGN_OR_RETURN(const Placed q, nudged(asked.q));
  const std::vector<double> sinks = nudged(asked.sinks, asked.problem.dtype);
  AttentionOptions options = asked.options();
  options.sinks = sinks;
  return compute_variant({q.view, asked.k.view, asked.v.view}, options, asked.d_o.view, asked.d_lse.view, mistakes);
}

// Adds what a result changes by where q and the sinks are off by one rounding, which a result of large scores is as
// uncertain as.
Status add_condition(const Case& asked, const VariantResult& want, std::span<const Mistake> accepted,
                     std::vector<NamedBound>& bounds) {
  constexpr double kSteps = 2 * kRoundedSteps;  // one draw of signs is not the worst one
  QKV_ASSIGN_OR_RETURN(const VariantResult moved, variant_off_by_a_rounding(asked, accepted));
  const std::array<std::pair<const Tensor*, const Tensor*>, 7> pairs{{{&want.o, &moved.o},
                                                                      {&want.lse, &moved.lse},
                                                                      {&want.dq, &moved.dq},
                                                                      {&want.dk, &moved.dk},
                                                                      {&want.dv, &moved.dv},
                                                                      {&want.dbias, &moved.dbias},
                                                                      {&want.dsinks, &moved.dsinks}}};
  for (std::size_t i = 0; i < bounds.size(); ++i)
    bounds[i].bound.absolute += kSteps * largest_difference(*pairs[i].first, *pairs[i].second);
  return {};
}

// Whether scores are larger than those of N(0,1) inputs under the default scale: exp makes much of their rounding.
bool has_large_scores(const Problem& problem) {
  return problem.scale && std::fabs(*problem.scale) * std::sqrt(static_cast<double>(problem.width)) > 1;
}

// How far each tensor may be off.
Result<std::vector<NamedBound>> bounds_of(const Case& asked, DType output) {
  const AttentionOptions options = asked.options();
  QKV_ASSIGN_OR_RETURN(const ForwardExpectation forward, expect_forward(asked.inputs(), options, output));
  std::vector<NamedBound> bounds{{"o", forward.o}, {"lse", forward.lse}};
  if (!asked.d_o.view.is_present()) return bounds;
  QKV_ASSIGN_OR_RETURN(const BackwardExpectation backward,
                       expect_backward(asked.inputs(), asked.d_o.view, asked.d_lse.view, options, output));
  bounds.insert(bounds.end(), {{"dq", backward.dq},
                               {"dk", backward.dk},
                               {"dv", backward.dv},
                               {"dbias", backward.dbias},
                               {"dsinks", backward.dsinks}});
  return bounds;
}

}  // namespace

bool Evidence::failed() const { return !is_refused() && (!is_answered() || first_failure() != nullptr); }

const TensorVerdict* Evidence::first_failure() const {
  const auto found = std::ranges::find_if(tensors, [](const TensorVerdict& one) { return !one.comparison.passed; });
  return found == tensors.end() ? nullptr : &*found;
}

std::vector<GivenTensor> given_tensors(const SubjectOutputs& outputs, const VariantResult& want) {
  const std::array<GivenTensor, 7> all{{{"o", &outputs.o, &want.o},
                                        {"lse", &outputs.lse, &want.lse},
                                        {"dq", &outputs.dq, &want.dq},
                                        {"dk", &outputs.dk, &want.dk},
                                        {"dv", &outputs.dv, &want.dv},
                                        {"dbias", &outputs.dbias, &want.dbias},
                                        {"dsinks", &outputs.dsinks, &want.dsinks}}};
  std::vector<GivenTensor> given;
  for (const GivenTensor& one : all)
    if (one.got->is_present() && one.want->is_present()) given.push_back(one);
  return given;
}

Result<Evidence> judge_answer(Case asked, SubjectAnswer answer, std::span<const Mistake> accepted) {
  Evidence evidence;
  evidence.asked = std::move(asked);
  evidence.answer = std::move(answer);
  const Case& one = evidence.asked;
  QKV_ASSIGN_OR_RETURN(evidence.want,
                       compute_variant(one.inputs(), one.options(), one.d_o.view, one.d_lse.view, accepted));
  if (!evidence.is_answered()) return evidence;
  QKV_ASSIGN_OR_RETURN(std::vector<NamedBound> bounds, bounds_of(one, output_type(one.problem)));
  if (has_large_scores(one.problem)) QKV_RETURN_IF_ERROR(add_condition(one, evidence.want, accepted, bounds));
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
  return evidence;
}

}  // namespace qkv::check
