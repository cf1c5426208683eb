// The passes: what each one calls and how it is held to float64.
#include "bench/subject.h"

#include <utility>

#include "src/check/generate.h"
#include "src/check/row_block.h"
#include "src/core/status_macros.h"

namespace qkv::bench {
namespace {

// attention_forward on the tensors of a problem line.
class ForwardSubject : public Subject {
 public:
  static Result<std::unique_ptr<Subject>> make(const Problem& problem) {
    auto subject = std::make_unique<ForwardSubject>();
    QKV_ASSIGN_OR_RETURN(subject->case_, check::generate(problem));
    QKV_ASSIGN_OR_RETURN(subject->outputs_, check::make_outputs(problem));
    subject->inputs_ = subject->case_.inputs();
    subject->views_ = subject->outputs_.views();
    subject->options_ = subject->case_.options();
    return std::unique_ptr<Subject>(std::move(subject));
  }

  Result<Check> check(const Execution& execution) override {
    QKV_RETURN_IF_ERROR(call(execution).status());
    QKV_ASSIGN_OR_RETURN(const check::SampledVerdict verdict, check::judge_rows(inputs_, options_, views_));
    return Check{verdict.largest_error, verdict.rows, verdict.of_rows, verdict.failure};
  }

  Result<Report> call(const Execution& execution) override {
    return attention_forward(inputs_, views_, options_, execution);
  }

 private:
  check::Case case_;
  check::CaseOutputs outputs_;
  AttentionInputs inputs_;  // views into the two above, made once
  AttentionOutputs views_;
  AttentionOptions options_;
};

}  // namespace

Result<std::unique_ptr<Subject>> make_subject(const Request& request) {
  switch (request.pass) {
    case Pass::kForward: return ForwardSubject::make(request.problem);
  }
  return invalid_argument("there is no such pass");
}

}  // namespace qkv::bench
