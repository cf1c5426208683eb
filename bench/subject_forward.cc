// Forward, on the tensors of a problem line.
#include <utility>

#include "bench/subjects.h"
#include "src/check/generate.h"
#include "src/check/row_block.h"
#include "src/core/status_macros.h"

namespace qkv::bench {
namespace {

class ForwardSubject : public Subject {
 public:
  Status make(const Problem& problem) {
    QKV_ASSIGN_OR_RETURN(case_, check::generate(problem));
    QKV_ASSIGN_OR_RETURN(outputs_, check::make_outputs(problem));
    inputs_ = case_.inputs();
    views_ = outputs_.views();
    options_ = case_.options();
    return {};
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

Result<std::unique_ptr<Subject>> make_forward_subject(const Problem& problem) {
  auto subject = std::make_unique<ForwardSubject>();
  QKV_RETURN_IF_ERROR(subject->make(problem));
  return std::unique_ptr<Subject>(std::move(subject));
}

}  // namespace qkv::bench
