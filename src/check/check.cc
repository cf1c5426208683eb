// The run: probes, judgement, diagnosis, policies, invariants, power, shrinking, and the sentence that sums it up.
#include "src/check/check.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "src/check/noise.h"
#include "src/check/not_asked.h"
#include "src/check/power.h"
#include "src/check/shrink.h"
#include "src/check/verdict.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

Status add_matrices(CheckReport& report, const Evidence& one, std::span<const Mistake> accepted) {
  QKV_ASSIGN_OR_RETURN(std::optional<FailingMatrices> made, failing_matrices(one, accepted));
  if (made) report.matrices.push_back(std::move(*made));
  return {};
}

// Mistakes, policies, fakes and the error's shape: what needs nobody to be asked.
Status conclude_from_evidence(CheckReport& report, std::span<const Mistake> accepted,
                              const std::function<bool()>& keep_going) {
  if (report.not_asked.empty()) {
    QKV_ASSIGN_OR_RETURN(report.diagnosis, diagnose(report.evidence, accepted, keep_going));
  }
  const std::vector<Explanation>& tied = report.diagnosis.tied;
  const std::vector<Mistake> found =
      tied.empty() ? std::vector(accepted.begin(), accepted.end()) : with_mistakes(accepted, tied.front().mistakes);
  QKV_ASSIGN_OR_RETURN(report.policies, find_policies(report.evidence, found));
  if (report.answered > 0 && report.failed == 0) {  // what tells right from wrong has the power to
    QKV_ASSIGN_OR_RETURN(report.powerless, powerless_fakes(report.evidence));
  }
  const auto first = std::ranges::find_if(report.evidence, &Evidence::failed);
  if (first == report.evidence.end() || first->first_failure() == nullptr) return {};
  QKV_RETURN_IF_ERROR(add_matrices(report, *first, accepted));
  const TensorVerdict& failure = *first->first_failure();
  for (const GivenTensor& given : given_tensors(first->answer.outputs, first->want))
    if (failure.name == given.name) report.error = shape_of_error(failure, *given.got, *given.want);
  return {};
}

// Whether two answers to one problem are the same, bit by bit, in everything that is wanted.
bool have_same_bits(const SubjectOutputs& a, const SubjectOutputs& b, const VariantResult& want) {
  return std::ranges::equal(
      given_tensors(a, want), given_tensors(b, want), [](const GivenTensor& x, const GivenTensor& y) {
        return std::string_view(x.name) == y.name && x.got->shape() == y.got->shape() &&
               x.got->dtype() == y.got->dtype() &&
               std::memcmp(x.got->view().data, y.got->view().data,
                           static_cast<std::size_t>(x.got->size()) * size_of(x.got->dtype())) == 0;
      });
}

class Run {
 public:
  Run(Subject& subject, const CheckOptions& options)
      : subject_(subject), options_(options), accepted_(with_mistakes({}, options.accepted)) {}

  Result<CheckReport> run() {
    report_.subject = subject_.name();
    QKV_RETURN_IF_ERROR(ask_probes());
    return concluded();
  }

  Result<CheckReport> run_one(const Problem& problem) {
    report_.subject = subject_.name();
    expected_ = 1;
    QKV_RETURN_IF_ERROR(add(problem));
    return concluded();
  }

 private:
  Result<Evidence> ask(const Problem& problem) {
    QKV_ASSIGN_OR_RETURN(Case asked, generate(problem));
    QKV_ASSIGN_OR_RETURN(SubjectAnswer answer, subject_.run(asked));
    return judge_answer(std::move(asked), std::move(answer), accepted_);
  }

  Status add(const Problem& problem) {
    QKV_ASSIGN_OR_RETURN(Evidence one, ask(problem));
    (one.is_refused() ? report_.refused : one.is_answered() ? report_.answered : report_.unanswered) += 1;
    if (one.failed()) ++report_.failed;
    report_.evidence.push_back(std::move(one));
    const auto done = static_cast<std::int64_t>(report_.evidence.size());
    if (options_.progress && !options_.progress(done, std::max(done, expected_)))
      return cancelled("check: stopped after " + std::to_string(done) + " probes");
    return {};
  }

  Result<CheckReport> concluded() {
    QKV_RETURN_IF_ERROR(conclude_from_evidence(report_, accepted_, options_.keep_going));
    if (report_.answered > 0) {  // else there is nothing to judge by
      QKV_ASSIGN_OR_RETURN(report_.invariants, ask_invariants(subject_, options_.probes, accepted_));
      QKV_RETURN_IF_ERROR(ask_again());
    }
    report_.verdict = verdict_of(report_);
    if (report_.verdict == Verdict::kWrong && report_.failed > 0) {
      QKV_RETURN_IF_ERROR(find_smallest());
      const auto first = std::ranges::find_if(report_.evidence, &Evidence::failed);
      QKV_ASSIGN_OR_RETURN(report_.leak, first_leak(subject_, first->asked.problem));
      QKV_RETURN_IF_ERROR(show_weights_got(first->asked.problem));
    }
    report_.headline = headline_of(report_);
    return std::move(report_);
  }

  Status ask_probes() {
    std::vector<ProbeFactor> factors = probe_factors(options_.probes.operation);
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
    report_.has_pairs = !options_.probes.quick;
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
      report_.same_bits = report_.same_bits && again.end == SubjectEnd::kAnswered &&
                          have_same_bits(first->answer.outputs, again.outputs, first->want);
    }
    return {};
  }

  // The smallest problem that fails in the same way.
  Status find_smallest() {
    const auto first = std::ranges::find_if(report_.evidence, &Evidence::failed);
    std::optional<Evidence> smallest;
    const auto still_fails = [&](const Problem& problem) -> Result<bool> {
      if (options_.keep_going && !options_.keep_going())
        return cancelled("check: stopped while it looked for the smallest problem");
      QKV_ASSIGN_OR_RETURN(Evidence one, ask(problem));
      QKV_ASSIGN_OR_RETURN(const bool fails, fails_like(one, *first));
      if (fails) smallest = std::move(one);
      return fails;
    };
    QKV_ASSIGN_OR_RETURN(report_.shrunk, shrink(first->asked.problem, still_fails));
    return smallest ? add_matrices(report_, *smallest, accepted_) : Status();
  }

  // The subject's own weights, beside those of the reference.
  Status show_weights_got(const Problem& first) {
    for (FailingMatrices& one : report_.matrices) {
      if (one.problem == first) {
        add_weights_got(one, report_.leak.weights);
        continue;
      }
      QKV_ASSIGN_OR_RETURN(const Leak leak, first_leak(subject_, one.problem));
      add_weights_got(one, leak.weights);
    }
    return {};
  }

  // Whether it fails under the same mistake, where one is known, and else with the same end.
  Result<bool> fails_like(const Evidence& one, const Evidence& first) const {
    const std::vector<Explanation>& tied = report_.diagnosis.tied;
    const bool is_by_element =
        !tied.empty() && !tied.front().share_left && !is_noise(tied.front().mistakes.front().mistake);
    if (!one.failed() || !is_by_element || !one.is_answered())
      return one.failed() && one.answer.end == first.answer.end;
    const std::vector<Mistake> mistakes = with_mistakes(accepted_, tied.front().mistakes);
    QKV_ASSIGN_OR_RETURN(const VariantResult variant, compute_variant(one.asked, mistakes));
    return all_match(one.answer.outputs, variant, one.asked.problem.dtype,
                     tied.front().is_forward_only ? Compared::kForward : Compared::kAll);
  }

  Subject& subject_;
  const CheckOptions& options_;
  std::vector<Mistake> accepted_;
  CheckReport report_;
  std::int64_t expected_ = 0;
};

}  // namespace

Result<CheckReport> check(Subject& subject, const CheckOptions& options) { return Run(subject, options).run(); }

Result<CheckReport> check_problem(Subject& subject, const Problem& problem, const CheckOptions& options) {
  return Run(subject, options).run_one(problem);
}

Result<CheckReport> check_given(Case given, SubjectOutputs got, std::string name, const CheckOptions& options) {
  const std::vector<Mistake> accepted = with_mistakes({}, options.accepted);
  SubjectAnswer answer;
  answer.outputs = std::move(got);
  CheckReport report;
  report.subject = std::move(name);
  QKV_ASSIGN_OR_RETURN(Evidence one, judge_answer(std::move(given), std::move(answer), accepted));
  (one.is_answered() ? report.answered : report.unanswered) = 1;
  if (one.failed()) {
    report.failed = 1;
    QKV_ASSIGN_OR_RETURN(report.not_asked, option_not_asked(one, accepted));
  }
  report.evidence.push_back(std::move(one));
  QKV_RETURN_IF_ERROR(conclude_from_evidence(report, accepted, options.keep_going));
  report.verdict = verdict_of(report);
  report.headline = headline_of(report);
  return report;
}

}  // namespace qkv::check
