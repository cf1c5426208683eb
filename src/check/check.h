// The checker: asks an implementation problem after problem and says right, wrong and which mistake, or cannot judge.
#ifndef QKV_SRC_CHECK_CHECK_H_
#define QKV_SRC_CHECK_CHECK_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/check/diagnose.h"
#include "src/check/error_shape.h"
#include "src/check/evidence.h"
#include "src/check/failing_matrices.h"
#include "src/check/invariants.h"
#include "src/check/policies.h"
#include "src/check/probes.h"
#include "src/check/subject.h"

namespace qkv::check {

enum class Verdict : std::uint8_t { kRight, kWrong, kCannotJudge };

struct CheckOptions {
  ProbeOptions probes;
  std::vector<NamedMistake> accepted;  // policies that count as right
  int repeats = 3;                     // of one probe, for the same bits
  Progress progress = {};
  // Asked while the mistake and the smallest problem are looked for; false ends the run with kCancelled.
  std::function<bool()> keep_going = {};
};

struct CheckReport {
  Verdict verdict = Verdict::kRight;
  std::string subject;
  std::string headline;  // one sentence for people
  std::vector<Evidence> evidence;
  // Of the probes; unanswered: crashed, hung or gave an error. Failed are those and what is wrong of the answered.
  int answered = 0, unanswered = 0, refused = 0, failed = 0;
  bool has_pairs = true;  // false: of a quick run, which asks no two options at once
  Diagnosis diagnosis;
  std::string not_asked;  // the option under which given numbers would be right: "causal=top_left"; "" if none
  std::vector<PolicyFound> policies;
  std::vector<Invariant> invariants;
  bool same_bits = true;
  std::optional<ErrorShape> error;     // of the first tensor that fails
  Leak leak;                           // of the first probe that fails
  std::vector<std::string> powerless;  // fakes that would have passed: the run cannot judge
  // The smallest problem that still fails; present only for kWrong.
  std::optional<Problem> shrunk;
  std::string replay;                     // the command that asks it again; "" if whoever runs the check knows none
  std::vector<FailingMatrices> matrices;  // of the first probe that fails, and of the smallest problem
};

// Asks probes, then what the verdict needs. Errors: what the subject's run() passes on; kCancelled.
Result<CheckReport> check(Subject& subject, const CheckOptions& options);

// The same with one problem for its only probe: to replay what a report has shrunk.
Result<CheckReport> check_problem(Subject& subject, const Problem& problem, const CheckOptions& options);

// Judges what somebody computed from given tensors; nobody is there to be asked again, so invariants, the same bits,
// leaks and the smallest problem are left out.
Result<CheckReport> check_given(Case given, SubjectOutputs got, std::string name, const CheckOptions& options);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_CHECK_H_
