// The page of a check, section by section; a section that has nothing to say is left out.
#include "apps/cli/check_page.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "apps/cli/console.h"
#include "apps/cli/matrix_block.h"
#include "apps/cli/text.h"
#include "src/check/noise.h"

namespace qkv::cli {
namespace {

using check::CheckReport;
using check::Evidence;

constexpr std::size_t kMostProbes = 12;  // failing ones that are listed; --json has all

std::string value_text(double value) {
  if (!std::isfinite(value)) return number_text(value, 0);
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return text;
}

// Two digits: "3.1", "6.2e+05".
std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

// ", up to 3.1e-07, which is 0.2 of what rounding may change"; "" of what is told by the size of its noise.
std::string distance_text(const check::Explanation& one) {
  if (one.of_tolerance == 0) return one.error == 0 && !check::is_noise(one.mistakes.front().mistake) ? ", exactly" : "";
  return ", up to " + small_number_text(one.error) + ", which is " + rounded(one.of_tolerance) +
         " of what rounding may change";
}

// The message without digits: where memory ends differs from problem to problem.
std::string without_numbers(const Evidence& one) {
  std::string text = one.answer.message;
  std::erase_if(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  return text;
}

class Page {
 public:
  Page(const CheckReport& report, const CheckPageStyle& style) : report_(report), style_(style) {}

  std::string text() {
    paragraph(report_.headline, 0);
    worst();
    mistakes();
    policies();
    invariants();
    probes();
    smallest();
    next_step();
    return std::move(text_);
  }

 private:
  int width() const { return std::min(style_.width, kWidestText); }

  void heading(std::string_view title) {
    const std::string name = cut(title, std::max(8, width() - 6));
    const int rule = std::max(2, width() - 4 - display_width(name));
    text_ += "\n" + style_.paint.accent("── " + name + " " + repeated("─", rule)) + "\n\n";
  }
  void paragraph(std::string_view text, int indent = 2) {
    for (const std::string& line : wrapped(text, width(), indent)) text_ += line + '\n';
  }
  void rows(const std::vector<std::vector<std::string>>& cells, const std::vector<bool>& right) {
    for (const std::string& line : table(cells, right)) text_ += "  " + cut(line, style_.width - 2) + '\n';
  }

  const Evidence* first_failure() const {
    const auto found = std::ranges::find_if(report_.evidence, &Evidence::failed);
    return found == report_.evidence.end() ? nullptr : &*found;
  }

  void worst() {
    const Evidence* one = first_failure();
    if (one == nullptr) return;
    heading("The first probe that fails");
    paragraph(format(one->asked.problem));
    if (!one->is_answered()) return paragraph(one->answer.message);
    for (const check::TensorVerdict& tensor : one->tensors) {
      const check::Comparison& found = tensor.comparison;
      if (found.passed) continue;
      paragraph(tensor.name + " " + to_string(found.worst) + ": got " + value_text(found.got) + ", want " +
                value_text(found.want) + ", error " + small_number_text(found.error) + " where " +
                small_number_text(found.bound) + " is allowed; " + std::to_string(found.failed) + " of " +
                std::to_string(found.count) + " wrong");
    }
    error_shape();
    if (report_.leak.found)
      paragraph("weight [" + std::to_string(report_.leak.b) + "," + std::to_string(report_.leak.h) + "," +
                std::to_string(report_.leak.i) + "," + std::to_string(report_.leak.j) + "] should be 0 and is " +
                value_text(report_.leak.weight) + ": query " + std::to_string(report_.leak.i) + " sees key " +
                std::to_string(report_.leak.j));
  }

  void error_shape() {
    if (!report_.error) return;
    const check::ErrorShape& shape = *report_.error;
    std::string text = std::isfinite(shape.bounds)
                           ? "The error is " + rounded(shape.bounds) + " times what rounding explains"
                           : std::string("A number stands where none belongs, or none where one does");
    if (std::isfinite(shape.correlation))
      text += "; correlation with what is wanted, without the mean, " + number_text(shape.correlation, 2);
    paragraph(text + ".");
    if (shape.places.empty()) return;
    std::string places;
    for (const std::string& place : shape.places) places += (places.empty() ? "" : "; ") + place;
    paragraph("Where: " + places + ".");
  }

  // "Attention", "A LayerNorm": what the explanations begin with.
  std::string subject() const {
    std::string noun = check::noun_of(report_.evidence.front().asked.problem.operation);
    noun.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(noun.front())));
    return noun;
  }

  void mistakes() {
    const std::vector<check::Explanation>& found =
        report_.diagnosis.tied.empty() ? report_.diagnosis.partial : report_.diagnosis.tied;
    if (found.empty()) return left_out();
    heading(report_.diagnosis.tied.empty() ? "What explains a part of it" : "Which mistake it is");
    for (const check::Explanation& one : found) {
      std::string names;
      for (const check::NamedMistake& named : one.mistakes)
        names += (names.empty() ? "" : " + ") + std::string(named.name);
      if (one.share_left) {
        paragraph(subject() + " with " + to_sentence(one) + " leaves " + rounded(100 * *one.share_left) +
                  " % of all squared errors in the " + std::to_string(one.explained) +
                  " probes that it changes; what is left is rounding (" + names + ").");
        continue;
      }
      const std::string probes =
          one.explained == one.failing
              ? one.failing == 1 ? "the probe that fails" : "all " + std::to_string(one.failing) + " probes that fail"
              : std::to_string(one.explained) + " of " + std::to_string(one.failing) + " probes that fail";
      const bool is_by_size = check::is_noise(one.mistakes.front().mistake);
      paragraph(subject() + " with " + to_sentence(one) +
                (is_by_size ? " has errors of that size in " : " gives the same numbers in ") + probes +
                distance_text(one) + " (" + names + ").");
    }
    if (report_.diagnosis.tied.size() > 1) paragraph("No probe tells these apart.");
    left_out();
  }

  void left_out() {
    if (report_.diagnosis.leaves_pairs_out)
      paragraph("Two mistakes at once were not tried: the smallest probe that fails is too large for that.");
  }

  void policies() {
    std::vector<std::vector<std::string>> cells;
    for (const check::PolicyFound& one : report_.policies)
      if (one.probes > 0)
        cells.push_back({one.is_ours ? " " : "!", std::string(one.question), std::string(one.answer),
                         std::to_string(one.agreeing) + " of " + std::to_string(one.probes) + " probes"});
    if (cells.empty()) return;
    heading("What it does where libraries differ");
    rows(cells, {false, false, false, true});
  }

  // A sentence and its number, which no narrow terminal may cut off.
  void invariants() {
    std::vector<std::string> lines;
    for (const check::Invariant& one : report_.invariants)
      if (one.was_asked)
        lines.push_back((one.holds() ? "✓  " : "✗  ") + std::string(one.words) + ": " +
                        (std::isnan(one.deviation) ? "NaN" : small_number_text(one.deviation)));
    if (!report_.invariants.empty())
      lines.emplace_back(report_.same_bits ? "✓  the same bits each time" : "✗  the same bits each time: they differ");
    if (lines.empty()) return;
    heading("What must hold whatever the numbers");
    for (const std::string& line : lines) paragraph(line);
  }

  void probes() {
    heading("Probes");
    const int wrong = report_.failed - report_.unanswered;
    std::string counts = std::to_string(report_.answered) + " answered, " + std::to_string(wrong) + " of them wrong";
    if (report_.unanswered > 0) counts += "; " + std::to_string(report_.unanswered) + " ended without an answer";
    paragraph(counts + "; " + std::to_string(report_.refused) + " refused");
    if (!report_.has_pairs) paragraph("No two options were asked at once (--quick): many mistakes are made there.");
    for (const std::string& fake : report_.powerless) paragraph("Under these bounds " + fake + " would pass too.");
    unanswered_probes();
    wrong_probes();
  }

  // Each way to end once, with how often.
  void unanswered_probes() {
    std::vector<std::pair<const Evidence*, int>> ways;
    for (const Evidence& one : report_.evidence) {
      if (one.is_answered() || !one.failed()) continue;
      const auto same = [&](const auto& way) { return without_numbers(*way.first) == without_numbers(one); };
      const auto known = std::ranges::find_if(ways, same);
      if (known == ways.end())
        ways.emplace_back(&one, 1);
      else
        ++known->second;
    }
    for (const auto& [first, count] : ways)
      paragraph("✗ " + (count == 1 ? "" : std::to_string(count) + " probes, first ") + format(first->asked.problem) +
                ": " + first->answer.message);
  }

  void wrong_probes() {
    std::size_t shown = 0;
    for (const Evidence& one : report_.evidence) {
      if (!one.is_answered() || !one.failed()) continue;
      if (++shown > kMostProbes) continue;
      std::string wrong;
      for (const check::TensorVerdict& tensor : one.tensors)
        if (!tensor.comparison.passed)
          wrong += (wrong.empty() ? "" : ", ") + tensor.name + " " + std::to_string(tensor.comparison.failed) + " of " +
                   std::to_string(tensor.comparison.count);
      paragraph("✗ " + format(one.asked.problem) + ": " + wrong);
    }
    if (shown > kMostProbes) paragraph("and " + std::to_string(shown - kMostProbes) + " more, all in --json");
  }

  void smallest() {
    if (!report_.shrunk) return;
    heading("The smallest problem that still fails");
    paragraph(format(*report_.shrunk));
    if (!report_.replay.empty()) text_ += "\n  " + report_.replay + '\n';
  }

  // Of files, which cannot be asked again.
  void next_step() {
    const check::Diagnosis& found = report_.diagnosis;
    if (report_.verdict != check::Verdict::kWrong || style_.problem.empty() || !found.tied.empty()) return;
    heading("What to try next");
    if (!report_.not_asked.empty())
      return paragraph("If that is what was meant, it is right: --problem \"" + style_.problem + " " +
                       report_.not_asked + "\"");
    paragraph("Say in --problem what no file holds and was in use: causal, window, scale, softcap.");
    paragraph("Give lse, and dq dk dv with do, where there are some: each tensor rules mistakes out.");
    paragraph(
        "Ask the function itself, which is asked many problems: qkv check LIBRARY:FUNCTION, or qkv.check in Python.");
  }

  const CheckReport& report_;
  const CheckPageStyle& style_;
  std::string text_;
};

}  // namespace

std::string check_page(const CheckReport& report, const CheckPageStyle& style) { return Page(report, style).text(); }

}  // namespace qkv::cli
