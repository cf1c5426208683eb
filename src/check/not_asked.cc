// The causal flag: no other option is left away as often, and none has so few settings.
#include "src/check/not_asked.h"

#include <utility>
#include <vector>

#include "src/check/match.h"
#include "src/core/status_macros.h"

namespace qkv::check {

Result<std::string> option_not_asked(const Evidence& one, std::span<const Mistake> accepted) {
  const Problem& problem = one.asked.problem;
  const bool is_open = problem.operation == Operation::kAttention && problem.causality == Causality::kNone &&
                       problem.corner == Corner::kUnset;
  // Without o a few gradients may agree by chance.
  if (!is_open || !one.is_answered() || !one.answer.outputs.o.is_present()) return std::string();
  std::vector<std::pair<std::string, Corner>> settings{{"causal=top_left", Corner::kTopLeft},
                                                       {"causal=bottom_right", Corner::kBottomRight}};
  if (problem.query_length == problem.key_length) settings = {{"causal", Corner::kUnset}};
  for (const auto& [words, corner] : settings) {
    AttentionOptions options = one.asked.options();
    options.causality = Causality::kCausal;
    options.corner = corner;
    QKV_ASSIGN_OR_RETURN(const VariantResult variant, compute_variant(one.asked.inputs(), options, one.asked.d_o.view,
                                                                      one.asked.d_lse.view, accepted));
    if (all_match(one.answer.outputs, variant, problem.dtype)) return words;
  }
  return std::string();
}

}  // namespace qkv::check
