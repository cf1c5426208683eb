// The run: probes, judgement, diagnosis, policies, invariants, power, shrinking, and the sentence that sums it up.
#include "src/check/check.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "src/check/power.h"
#include "src/check/shrink.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

// A result this many bounds away may still be rounding, if no mistake explains it.
constexpr double kNoiseBounds = 8;

class Run {
 public:
  Run(Subject& subject, const CheckOptions& options) : subject_(subject), options_(options) {
    for (const NamedMistake& named : options.accepted) accepted_.push_back(named.mistake);
  }

  Result<CheckReport> run() {
    report_.subject = subject_.name();
    QKV_RETURN_IF_ERROR(ask_probes());
    QKV_ASSIGN_OR_RETURN(report_.diagnosis, diagnose(report_.evidence, accepted_));
    std::vector<Mistake> found = accepted_;
    if (!report_.diagnosis.tied.empty())
      for (const NamedMistake& named : report_.diagnosis.tied.front().mistakes) found.push_back(named.mistake);
    QKV_ASSIGN_OR_RETURN(report_.policies, find_policies(report_.evidence, found));
    QKV_ASSIGN_OR_RETURN(report_.powerless, powerless_fakes(report_.evidence));
    if (report_.answered > 0) {
      QKV_ASSIGN_OR_RETURN(report_.invariants, ask_invariants(subject_, options_.probes));
      QKV_RETURN_IF_ERROR(ask_again());
    }
    report_.verdict = verdict();
    if (report_.verdict == Verdict::kWrong && report_.failed > 0) QKV_RETURN_IF_ERROR(find_smallest());
    report_.headline = headline();
    return std::move(report_);
  }

 private:
  Result<Evidence> ask(const Problem& problem) {
    QKV_ASSIGN_OR_RETURN(Case asked, generate(problem));
    QKV_ASSIGN_OR_RETURN(SubjectAnswer answer, subject_.run(asked));
    return judge_answer(std::move(asked), std::move(answer), accepted_);
  }

  Status add(const Problem& problem) {
    QKV_ASSIGN_OR_RETURN(Evidence one, ask(problem));
    (one.is_refused() ? report_.refused : report_.answered) += 1;
    if (one.failed()) ++report_.failed;
    report_.evidence.push_back(std::move(one));
    const auto done = static_cast<std::int64_t>(report_.evidence.size());
    if (options_.progress && !options_.progress(done, std::max(done, expected_)))
      return cancelled("check: stopped after " + std::to_string(done) + " probes");
    return {};
  }

  Status ask_probes() {
    std::vector<ProbeFactor> factors = probe_factors();
    const std::vector<Problem> singles = single_probes(options_.probes, factors);
    const std::vector<Problem> special = special_probes(options_.probes);
    expected_ = static_cast<std::int64_t>(1 + singles.size() + special.size());
    QKV_RETURN_IF_ERROR(add(first_probe(options_.probes)));
    std::size_t next = 0;
    for (ProbeFactor& factor : factors) {  // what is refused alone is not asked in pairs
      std::vector<ProbeSetting> kept{factor.settings.front()};
      for (std::size_t setting = 1; setting < factor.settings.size(); ++setting) {
        QKV_RETURN_IF_ERROR(add(singles[next++]));
        if (!report_.evidence.back().is_refused()) kept.push_back(factor.settings[setting]);
      }
      factor.settings = std::move(kept);
    }
    for (const Problem& problem : special) QKV_RETURN_IF_ERROR(add(problem));
    if (options_.probes.quick) return {};
    const std::vector<Problem> pairs = pair_probes(options_.probes, factors);
    expected_ += static_cast<std::int64_t>(pairs.size());
    for (const Problem& problem : pairs) QKV_RETURN_IF_ERROR(add(problem));
    return {};
  }

  // The first answered probe over and over: the same bits each time?
  Status ask_again() {
    const auto first = std::ranges::find_if(report_.evidence, &Evidence::is_answered);
    if (first == report_.evidence.end()) return {};
    for (int time = 1; time < options_.repeats; ++time) {
      QKV_ASSIGN_OR_RETURN(const SubjectAnswer again, subject_.run(first->asked));
      const auto same = [](const Tensor& a, const Tensor& b) {
        return a.is_present() == b.is_present() &&
               (!a.is_present() || (a.shape() == b.shape() && a.dtype() == b.dtype() &&
                                    std::memcmp(a.view().data, b.view().data,
                                                static_cast<std::size_t>(a.size()) * size_of(a.dtype())) == 0));
      };
      const SubjectOutputs& x = first->answer.outputs;
      const SubjectOutputs& y = again.outputs;
      report_.same_bits = report_.same_bits && again.end == SubjectEnd::kAnswered && same(x.o, y.o) &&
                          same(x.lse, y.lse) && same(x.dq, y.dq) && same(x.dk, y.dk) && same(x.dv, y.dv);
    }
    return {};
  }

  bool is_noise() const {
    if (!report_.diagnosis.tied.empty() || !report_.diagnosis.partial.empty()) return false;
    return std::ranges::all_of(report_.evidence, [](const Evidence& one) {
      return !one.failed() || (one.is_answered() && std::ranges::all_of(one.tensors, [](const TensorVerdict& tensor) {
                                 return tensor.comparison.passed ||
                                        tensor.comparison.error <= kNoiseBounds * tensor.comparison.bound;
                               }));
    });
  }

  const Invariant* broken_invariant() const {
    const auto broken =
        std::ranges::find_if(report_.invariants, [](const Invariant& one) { return !one.holds() && !one.is_policy; });
    return broken == report_.invariants.end() ? nullptr : &*broken;
  }

  Verdict verdict() const {
    if (report_.answered == 0) return Verdict::kCannotJudge;
    if (report_.failed > 0) return is_noise() ? Verdict::kCannotJudge : Verdict::kWrong;
    if (!report_.powerless.empty()) return Verdict::kCannotJudge;
    return broken_invariant() != nullptr ? Verdict::kWrong : Verdict::kRight;
  }

  // The smallest problem that fails in the same way: under the same mistake, where one is known.
  Status find_smallest() {
    const auto first = std::ranges::find_if(report_.evidence, &Evidence::failed);
    const std::vector<Explanation>& tied = report_.diagnosis.tied;
    const auto still_fails = [&](const Problem& problem) -> Result<bool> {
      QKV_ASSIGN_OR_RETURN(const Evidence one, ask(problem));
      if (!one.failed() || tied.empty() || !one.is_answered())
        return one.failed() && one.answer.end == first->answer.end;
      std::vector<Mistake> mistakes = accepted_;
      for (const NamedMistake& named : tied.front().mistakes) mistakes.push_back(named.mistake);
      QKV_ASSIGN_OR_RETURN(
          const VariantResult variant,
          compute_variant(one.asked.inputs(), one.asked.options(), one.asked.d_o.view, one.asked.d_lse.view, mistakes));
      double error = 0;
      return std::ranges::all_of(given_tensors(one.answer.outputs, variant), [&](const GivenTensor& given) {
        return matches(*given.got, *given.want, match_tolerance(problem.dtype, *given.want), error);
      });
    };
    QKV_ASSIGN_OR_RETURN(report_.shrunk, shrink(first->asked.problem, still_fails));
    return {};
  }

  std::string counted() const {
    std::string text = std::to_string(report_.failed) + " of " + std::to_string(report_.answered) + " probes fail";
    const auto first = std::ranges::find_if(report_.evidence, &Evidence::failed);
    if (first != report_.evidence.end()) text += ", first: " + format(first->asked.problem);
    return text;
  }

  std::string headline() const {
    if (report_.verdict == Verdict::kRight)
      return "RIGHT: " + std::to_string(report_.answered) + " of " + std::to_string(report_.answered) +
             " probes agree with the float64 reference";
    if (report_.answered == 0) return "CANNOT JUDGE: all " + std::to_string(report_.refused) + " probes were refused";
    if (report_.verdict == Verdict::kCannotJudge && report_.failed == 0)
      return "CANNOT JUDGE: " + report_.powerless.front() + " would have passed too";
    if (report_.verdict == Verdict::kCannotJudge)
      return "CANNOT JUDGE: rounding about as large as the bound; " + counted();
    if (report_.failed == 0) return "WRONG: " + std::string(broken_invariant()->words) + " does not hold";
    const auto first = std::ranges::find_if(report_.evidence, &Evidence::failed);
    if (!first->is_answered()) return "WRONG: " + first->answer.message + "; " + counted();
    const Diagnosis& diagnosis = report_.diagnosis;
    if (diagnosis.tied.size() == 1)
      return "WRONG: equals attention with " + to_sentence(diagnosis.tied.front()) + "; " + counted();
    if (diagnosis.tied.size() > 1) {
      std::string text = "WRONG: equals attention with " + to_sentence(diagnosis.tied.front());
      for (std::size_t i = 1; i < diagnosis.tied.size(); ++i) text += ", or with " + to_sentence(diagnosis.tied[i]);
      return text + "; " + counted();
    }
    if (!diagnosis.partial.empty())
      return "WRONG: in " + std::to_string(diagnosis.partial.front().explained) + " probes equal to attention with " +
             to_sentence(diagnosis.partial.front()) + "; " + counted();
    return "WRONG: no mistake that is known explains it; " + counted();
  }

  Subject& subject_;
  const CheckOptions& options_;
  std::vector<Mistake> accepted_;
  CheckReport report_;
  std::int64_t expected_ = 0;
};

}  // namespace

Result<CheckReport> check(Subject& subject, const CheckOptions& options) { return Run(subject, options).run(); }

}  // namespace qkv::check
