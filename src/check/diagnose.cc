// Tries every hypothesis against the evidence, cheapest probe first, so that most fall at the first one.
#include "src/check/diagnose.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iomanip>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "src/check/error_left.h"
#include "src/check/hypothesis.h"
#include "src/check/noise.h"
#include "src/check/tell_apart.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

bool fails_forward(const Evidence& one) {
  return std::ranges::any_of(
      one.tensors, [](const TensorVerdict& verdict) { return is_forward(verdict.name) && !verdict.comparison.passed; });
}

// What a hypothesis has to reproduce.
struct Facts {
  std::vector<const Evidence*> failing, passing;
  Compared compared = Compared::kAll;
};

// O and lse alone, of answers that have gradients too; nothing fails in them if there are no gradients.
Facts of_forward(const Facts& all) {
  Facts facts{{}, all.passing, Compared::kForward};
  for (const Evidence* one : all.failing) (fails_forward(*one) ? facts.failing : facts.passing).push_back(one);
  const auto has_gradient = [](const Evidence* one) {
    return one->answer.outputs.dq.is_present() || one->answer.outputs.layer.dx.is_present();
  };
  if (std::ranges::none_of(all.failing, has_gradient)) facts.failing.clear();
  return facts;
}

class Diagnoser {
 public:
  Diagnoser(std::span<const Evidence> evidence, std::span<const Mistake> accepted,
            const std::function<bool()>& keep_going)
      : accepted_(accepted), keep_going_(keep_going) {
    for (const Evidence& one : evidence) {
      if (!one.is_answered()) continue;
      (one.failed() ? all_.failing : all_.passing).push_back(&one);
    }
    const auto work = [](const Evidence* one) { return std::pair(work_of(one->asked.problem), one); };  // then in order
    std::ranges::sort(all_.failing, {}, work);
    std::ranges::sort(all_.passing, {}, work);
    factor_ = output_factor(all_.failing);
    if (evidence.empty()) return;
    const Operation operation = evidence.front().asked.problem.operation;
    std::ranges::copy_if(all_mistakes(), std::back_inserter(candidates_),
                         [&](const NamedMistake& named) { return is_possible(named.mistake, operation); });
  }

  Result<Diagnosis> run() {
    Diagnosis diagnosis;
    if (all_.failing.empty()) {
      if (is_coarse()) {
        QKV_ASSIGN_OR_RETURN(diagnosis.tied, told_together(all_));
      }
      return diagnosis;
    }
    QKV_ASSIGN_OR_RETURN(diagnosis.tied, singles(all_));
    if (diagnosis.tied.empty()) {  // a mistake of the forward pass has its own gradient, or that of what is right
      QKV_ASSIGN_OR_RETURN(diagnosis.tied, singles(of_forward(all_)));
      for (Explanation& one : diagnosis.tied) one.is_forward_only = true;
    }
    if (diagnosis.tied.empty()) {
      QKV_ASSIGN_OR_RETURN(diagnosis.tied, told_together(all_));
    }
    leave_out_parts(diagnosis.tied);
    if (diagnosis.tied.empty()) QKV_RETURN_IF_ERROR(try_noise(diagnosis));
    if (diagnosis.tied.empty()) QKV_RETURN_IF_ERROR(try_pairs(diagnosis));
    if (diagnosis.tied.empty()) QKV_RETURN_IF_ERROR(find_partial(diagnosis));
    if (diagnosis.tied.size() > 1) {
      QKV_ASSIGN_OR_RETURN(
          diagnosis.told_apart_by,
          told_apart_by(all_.failing.front()->asked.problem, with_mistakes(accepted_, diagnosis.tied[0].mistakes),
                        with_mistakes(accepted_, diagnosis.tied[1].mistakes)));
    }
    return diagnosis;
  }

 private:
  enum class Effort : std::uint8_t {
    kWhole,  // ends at the first probe that is not reproduced
    kCount,  // counts the failing probes that are
  };

  Result<Explanation> explain(const Hypothesis& hypothesis, Effort effort, const Facts& facts) const {
    if (keep_going_ && !keep_going_()) return cancelled("check: stopped while it looked for the mistake");
    Explanation explanation;
    explanation.mistakes = hypothesis;
    explanation.failing = static_cast<int>(facts.failing.size());
    for (const Evidence* one : facts.failing) {
      QKV_ASSIGN_OR_RETURN(const std::optional<Distance> distance,
                           distance_of(*one, hypothesis, accepted_, facts.compared));
      bool is_told = false;  // what is no mistake here explains nothing
      if (distance) {
        QKV_ASSIGN_OR_RETURN(is_told, tells_failure(*one, hypothesis, accepted_, facts.compared));
      }
      if (distance && is_told) {
        ++explanation.explained;
        explanation.error = std::max(explanation.error, distance->error);
        explanation.of_tolerance = std::max(explanation.of_tolerance, distance->of_tolerance);
      } else if (effort == Effort::kWhole) {
        return explanation;
      }
    }
    if (explanation.explained == 0) return explanation;
    for (const Evidence* one : facts.passing) {
      QKV_ASSIGN_OR_RETURN(explanation.fits_passing, leaves_right(*one, hypothesis, accepted_, facts.compared));
      if (!explanation.fits_passing) break;
    }
    return explanation;
  }

  // Where every mask may be inverted, that one of them is says less.
  static void leave_out_parts(std::vector<Explanation>& tied) {
    const auto inverts = [](const Explanation& one) {
      return one.mistakes.front().mistake.id == MistakeId::kMaskInverted;
    };
    const auto whole = std::ranges::find_if(tied, inverts);  // comes first of the candidates
    if (whole == tied.end() || whole->mistakes.front().mistake.parameter != 0) return;
    tied.erase(std::remove_if(whole + 1, tied.end(), inverts), tied.end());
  }

  // Every mistake that explains all that fails.
  Result<std::vector<Explanation>> singles(const Facts& facts) const {
    std::vector<Explanation> found;
    if (facts.failing.empty()) return found;
    for (const NamedMistake& named : candidates_) {
      if (named.mistake.id == MistakeId::kOutputScaled && !is_telling(factor_)) continue;
      const NamedMistake candidate = fitted(named);
      QKV_ASSIGN_OR_RETURN(Explanation tried, explain({candidate}, Effort::kWhole, facts));
      if (tried.is_whole()) found.push_back(std::move(tried));
    }
    return found;
  }

  // The bounds of these types have room for a mistake.
  bool is_coarse() const {
    return std::ranges::any_of(all_.passing, [](const Evidence* one) {
      return one->asked.problem.dtype == DType::kBF16 || one->asked.problem.dtype == DType::kF16;
    });
  }

  // The mistakes that take most of all errors away, and as much as the best of them does.
  Result<std::vector<Explanation>> told_together(const Facts& facts) const {
    std::vector<const Evidence*> evidence = facts.failing;
    evidence.insert(evidence.end(), facts.passing.begin(), facts.passing.end());
    std::vector<std::pair<NamedMistake, ErrorLeft>> found;
    for (const NamedMistake& named : candidates_) {
      if (is_noise(named.mistake) || (named.mistake.id == MistakeId::kOutputScaled && !is_telling(factor_))) continue;
      const NamedMistake candidate = fitted(named);
      QKV_ASSIGN_OR_RETURN(const std::optional<ErrorLeft> left,
                           error_left(evidence, with_mistakes(accepted_, std::span(&candidate, 1)), facts.compared));
      if (left && left->explains()) found.emplace_back(candidate, *left);
    }
    std::vector<Explanation> best;
    for (const auto& [named, left] : found) {
      const bool is_best = std::ranges::all_of(found, [&](const auto& other) { return other.second.is_as_good(left); });
      if (is_best)
        best.push_back(
            {.mistakes = {named}, .explained = left.probes, .failing = left.probes, .share_left = left.share()});
    }
    return best;
  }

  // The mistake with the factor that fits best, where one is fitted.
  NamedMistake fitted(const NamedMistake& named) const {
    NamedMistake candidate = named;
    if (named.mistake.id == MistakeId::kOutputScaled) candidate.mistake.parameter = factor_;
    return candidate;
  }

  Status try_noise(Diagnosis& diagnosis) const {
    for (const NamedMistake& named : candidates_) {
      if (!is_noise(named.mistake)) continue;
      QKV_ASSIGN_OR_RETURN(const bool fits, has_noise_of(named.mistake, all_.failing, accepted_));
      const int count = static_cast<int>(all_.failing.size());
      if (fits) diagnosis.tied.push_back({.mistakes = {named}, .explained = count, .failing = count});
    }
    return {};
  }

  Status try_pairs(Diagnosis& diagnosis) const {
    const std::vector<NamedMistake>& all = candidates_;
    constexpr double kMostWork = 1e9;  // scalar operations
    const double pairs = static_cast<double>(all.size()) * static_cast<double>(all.size()) / 2;
    diagnosis.leaves_pairs_out = pairs * work_of(all_.failing.front()->asked.problem) > kMostWork;
    if (diagnosis.leaves_pairs_out) return {};
    for (std::size_t a = 0; a < all.size(); ++a)
      for (std::size_t b = a + 1; b < all.size(); ++b) {
        if (all[a].mistake.id == all[b].mistake.id) continue;
        QKV_ASSIGN_OR_RETURN(Explanation tried, explain({all[a], all[b]}, Effort::kWhole, all_));
        if (tried.is_whole()) diagnosis.tied.push_back(std::move(tried));
      }
    return {};
  }

  // What explains some of the failing probes and contradicts none that passed, the most first.
  Status find_partial(Diagnosis& diagnosis) const {
    std::vector<Explanation> found;
    for (const NamedMistake& named : candidates_) {
      QKV_ASSIGN_OR_RETURN(Explanation tried, explain({named}, Effort::kCount, all_));
      if (tried.explained > 0 && tried.fits_passing) found.push_back(std::move(tried));
    }
    for (int count = static_cast<int>(all_.failing.size()); count > 0; --count)  // of as many the likelier stays first
      for (Explanation& one : found)
        if (one.explained == count) diagnosis.partial.push_back(one);
    return {};
  }

  // 1 is no mistake, and 0 is no answer.
  static bool is_telling(double factor) { return std::fabs(factor - 1) > 1e-3 && std::fabs(factor) > 1e-3; }

  std::span<const Mistake> accepted_;
  const std::function<bool()>& keep_going_;
  Facts all_;
  std::vector<NamedMistake> candidates_;  // that can be made in the operation
  double factor_ = 1;                     // of o, as it fits best
};

}  // namespace

Result<Diagnosis> diagnose(std::span<const Evidence> evidence, std::span<const Mistake> accepted,
                           const std::function<bool()>& keep_going) {
  return Diagnoser(evidence, accepted, keep_going).run();
}

std::string noun_of(Operation operation) {
  switch (operation) {
    case Operation::kDecode: return "a decode step";
    case Operation::kLayer: return "a layer";
    case Operation::kLayerNorm: return "a LayerNorm";
    default: return "attention";
  }
}

std::string to_sentence(const Explanation& explanation) {
  std::string sentence;
  for (const NamedMistake& named : explanation.mistakes) {
    if (!sentence.empty()) sentence += " and ";
    sentence += named.sentence;
    if (named.mistake.id == MistakeId::kOutputScaled) {
      std::ostringstream factor;
      factor << std::setprecision(4) << named.mistake.parameter;
      sentence += " (" + factor.str() + ")";
    }
  }
  if (explanation.is_forward_only) sentence += " (o and lse; the gradients are another matter)";
  return sentence;
}

}  // namespace qkv::check
