// The questions, their answers, and which of them the evidence shows.
#include "src/check/policies.h"

#include <algorithm>
#include <utility>

#include "src/check/match.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

struct Answer {
  std::string_view words;
  std::string_view mistake;  // its name in all_mistakes(); "" for what docs/semantics.md says
};

struct Question {
  std::string_view words;
  std::vector<Answer> answers;  // ours first
};

const std::vector<Question>& questions() {
  static const std::vector<Question> all = {
      {"a row that sees no key gives", {{"0", ""}, {"NaN", "empty_row_nan"}, {"the mean of v", "empty_row_mean"}}},
      {"its lse is", {{"−∞", ""}, {"0", "empty_lse_zero"}, {"+∞", "empty_lse_infinite"}}},
      {"the corner of positions is",
       {{"the one that is asked for", ""},
        {"always top left", "corner_top_left"},
        {"always bottom right", "corner_bottom_right"}}},
      {"true in a mask", {{"keeps", ""}, {"hides", "mask_inverted"}}},
      {"the scale is",
       {{"1/√D, or what is given", ""},
        {"1", "scale_missing"},
        {"applied twice", "scale_twice"},
        {"always 1/√D", "scale_ignored"},
        {"1/D", "scale_inverse_width"}}},
      {"query head h reads KV head", {{"h / (Hq / Hkv)", ""}, {"h % Hkv", "head_map_tiled"}}},
      {"the base of lse is", {{"e", ""}, {"2", "lse_base_2"}}},
  };
  return all;
}

std::vector<Mistake> with(std::span<const Mistake> base, const Question& question, const Answer& answer) {
  std::vector<Mistake> mistakes;
  for (const Mistake& one : base) {
    const bool is_an_answer = std::ranges::any_of(question.answers, [&](const Answer& other) {
      const NamedMistake* named = find_mistake(other.mistake);
      return named != nullptr && named->mistake == one;
    });
    if (!is_an_answer) mistakes.push_back(one);
  }
  if (const NamedMistake* named = find_mistake(answer.mistake)) mistakes.push_back(named->mistake);
  return mistakes;
}

// Whether two variants differ in a tensor that was given.
bool differ(const SubjectOutputs& outputs, const VariantResult& a, const VariantResult& b, DType dtype) {
  const std::vector<GivenTensor> left = given_tensors(outputs, a);
  const std::vector<GivenTensor> right = given_tensors(outputs, b);
  double error = 0;
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!matches(*left[i].want, *right[i].want, match_tolerance(dtype, *left[i].want), error)) return true;
  return false;
}

Result<PolicyFound> ask(const Question& question, std::span<const Evidence> evidence, std::span<const Mistake> found) {
  PolicyFound policy{question.words, question.answers.front().words, 0, 0, true};
  std::vector<int> agreeing(question.answers.size());
  for (const Evidence& one : evidence) {
    if (!one.is_answered()) continue;
    std::vector<VariantResult> variants;
    for (const Answer& answer : question.answers) {
      const std::vector<Mistake> mistakes = with(found, question, answer);
      const Case& asked = one.asked;
      QKV_ASSIGN_OR_RETURN(VariantResult variant, compute_variant(asked, mistakes));
      variants.push_back(std::move(variant));
    }
    const DType dtype = one.asked.problem.dtype;
    const bool tells = std::ranges::any_of(variants, [&](const VariantResult& variant) {
      return differ(one.answer.outputs, variants.front(), variant, dtype);
    });
    if (!tells) continue;
    ++policy.probes;
    for (std::size_t answer = 0; answer < variants.size(); ++answer)
      if (all_match(one.answer.outputs, variants[answer], dtype)) ++agreeing[answer];
  }
  const auto best = std::ranges::max_element(agreeing);
  policy.agreeing = *best;
  const auto at = static_cast<std::size_t>(best - agreeing.begin());
  policy.is_ours = at == 0 || policy.probes == 0;
  policy.answer = policy.probes > 0 && *best == 0 ? "none of these" : question.answers[at].words;
  return policy;
}

}  // namespace

Result<std::vector<PolicyFound>> find_policies(std::span<const Evidence> evidence, std::span<const Mistake> found) {
  std::vector<PolicyFound> policies;
  for (const Question& question : questions()) {
    QKV_ASSIGN_OR_RETURN(const PolicyFound policy, ask(question, evidence, found));
    policies.push_back(policy);
  }
  return policies;
}

}  // namespace qkv::check
