// The verdict that a report comes to, and its sentence.
#include "src/check/verdict.h"

#include <algorithm>

namespace qkv::check {
namespace {

// A result this many bounds away may still be rounding, if no mistake explains it.
constexpr double kNoiseBounds = 8;

bool is_noise(const CheckReport& report) {
  if (!report.diagnosis.tied.empty() || !report.diagnosis.partial.empty()) return false;
  return std::ranges::all_of(report.evidence, [](const Evidence& one) {
    return !one.failed() || (one.is_answered() && std::ranges::all_of(one.tensors, [](const TensorVerdict& tensor) {
                               return tensor.comparison.passed ||
                                      tensor.comparison.error <= kNoiseBounds * tensor.comparison.bound;
                             }));
  });
}

const Invariant* broken_invariant(const CheckReport& report) {
  const auto broken =
      std::ranges::find_if(report.invariants, [](const Invariant& one) { return !one.holds() && !one.is_policy; });
  return broken == report.invariants.end() ? nullptr : &*broken;
}

// Gradients were asked for, and no answer has one: what is right of the rest says nothing of them.
bool lacks_gradients(const CheckReport& report) {
  const auto is_asked = [](const Evidence& one) { return one.asked.problem.backward; };
  const auto is_given = [](const Evidence& one) {
    return std::ranges::any_of(one.tensors, [](const TensorVerdict& tensor) { return !is_forward(tensor.name); });
  };
  return std::ranges::any_of(report.evidence, is_asked) && std::ranges::none_of(report.evidence, is_given);
}

}  // namespace

Verdict verdict_of(const CheckReport& report) {
  if (report.answered + report.unanswered == 0) return Verdict::kCannotJudge;
  if (!report.diagnosis.tied.empty()) return Verdict::kWrong;
  if (report.failed > 0) return is_noise(report) ? Verdict::kCannotJudge : Verdict::kWrong;
  if (lacks_gradients(report) || !report.powerless.empty()) return Verdict::kCannotJudge;
  return broken_invariant(report) != nullptr ? Verdict::kWrong : Verdict::kRight;
}

namespace {

std::string counted(const CheckReport& report) {
  std::string text =
      std::to_string(report.failed) + " of " + std::to_string(report.answered + report.unanswered) + " probes fail";
  const auto first = std::ranges::find_if(report.evidence, &Evidence::failed);
  if (first != report.evidence.end()) text += ", first: " + format(first->asked.problem);
  return text;
}

std::string named(const Diagnosis& diagnosis) {
  std::string text = to_sentence(diagnosis.tied.front());
  for (std::size_t i = 1; i < diagnosis.tied.size(); ++i) text += ", or with " + to_sentence(diagnosis.tied[i]);
  if (diagnosis.told_apart_by) text += " (what tells the first two apart: " + format(*diagnosis.told_apart_by) + ")";
  return text;
}

// "1 probe", "3 probes".
std::string counted(int count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// What the first one was asked, and what it said.
std::string reason_of_refusal(const CheckReport& report) {
  if (report.evidence.empty()) return "";
  const Evidence& first = report.evidence.front();
  return ", the first (" + format(first.asked.problem) + "): " + first.answer.message;
}

}  // namespace

std::string headline_of(const CheckReport& report) {
  if (report.verdict == Verdict::kRight)
    return "RIGHT: " + std::to_string(report.answered) + " of " + std::to_string(report.answered) +
           " probes agree with the float64 reference" + (report.has_pairs ? "" : "; no two options at once were asked");
  if (report.answered + report.unanswered == 0)
    return "CANNOT JUDGE: all " + std::to_string(report.refused) + " probes were refused" + reason_of_refusal(report);
  if (report.failed == 0 && lacks_gradients(report))
    return "CANNOT JUDGE: no answer has a gradient, and " + std::to_string(report.refused) +
           " probes were refused; the forward pass alone is judged without asking for gradients";
  if (report.verdict == Verdict::kCannotJudge && report.failed == 0)
    return "CANNOT JUDGE: " + report.powerless.front() + " would have passed too";
  if (report.verdict == Verdict::kCannotJudge)
    return "CANNOT JUDGE: rounding about as large as the bound; " + counted(report);
  if (report.failed == 0 && !report.diagnosis.tied.empty())
    return "WRONG: equals " + noun_of(report.evidence.front().asked.problem.operation) + " with " +
           named(report.diagnosis) + ", told by all errors together: each by itself could be rounding";
  if (report.failed == 0) return "WRONG: " + std::string(broken_invariant(report)->words) + " does not hold";
  const auto first = std::ranges::find_if(report.evidence, &Evidence::failed);
  if (!first->is_answered()) return "WRONG: " + first->answer.message + "; " + counted(report);
  const Diagnosis& diagnosis = report.diagnosis;
  const std::string noun = noun_of(first->asked.problem.operation);
  if (!diagnosis.tied.empty()) return "WRONG: equals " + noun + " with " + named(diagnosis) + "; " + counted(report);
  if (!report.not_asked.empty())
    return "WRONG: equals attention with " + report.not_asked + ", which was not asked for; " + counted(report);
  if (!diagnosis.partial.empty())
    return "WRONG: in " + counted(diagnosis.partial.front().explained, "probe") + " equal to " + noun + " with " +
           to_sentence(diagnosis.partial.front()) + "; " + counted(report);
  return "WRONG: no mistake that is known explains it; " + counted(report);
}

}  // namespace qkv::check
