// The gradients, alone or after the forward pass that they need.
#include <algorithm>
#include <utility>

#include "bench/subjects.h"
#include "src/check/bounds.h"
#include "src/check/generate.h"
#include "src/check/row_block.h"
#include "src/core/status_macros.h"

namespace qkv::bench {
namespace {

constexpr double kWholeWork = 3e7;        // pairs times widths up to which every gradient is checked as it is
constexpr std::int64_t kShortened = 192;  // queries and keys of a longer problem's check: several tiles
constexpr std::int64_t kRowsOfARun = 4;   // of dq at the real length

// A problem's tensors and the two calls on them.
class Pair {
 public:
  Status make(Problem problem) {
    problem.backward = problem.lse = true;
    QKV_ASSIGN_OR_RETURN(case_, check::generate(problem));
    QKV_ASSIGN_OR_RETURN(outputs_, check::make_outputs(problem));
    QKV_ASSIGN_OR_RETURN(gradients_, check::make_gradients(problem));
    inputs_ = {case_.q.view,      case_.k.view,   case_.v.view,    outputs_.o.view,
               outputs_.lse.view, case_.d_o.view, case_.d_lse.view};
    views_ = gradients_.views();
    options_ = case_.options();
    return {};
  }

  Result<Report> forward(const Execution& execution) {
    return attention_forward(case_.inputs(), outputs_.views(), options_, execution);
  }
  Result<Report> backward(const Execution& execution) {
    return attention_backward(inputs_, views_, options_, execution);
  }

  // Every gradient against float64, after both calls.
  Status judge_whole(Check& found) const {
    QKV_ASSIGN_OR_RETURN(const check::BackwardExpectation want,
                         check::expect_backward(case_.inputs(), case_.d_o.view, case_.d_lse.view, options_,
                                                check::output_type(case_.problem)));
    QKV_ASSIGN_OR_RETURN(const check::BackwardVerdict verdict, check::judge(want, views_));
    note(verdict, found);
    return {};
  }

  // dq of a run of queries: what float64 gives for them alone.
  Status judge_rows(const check::RowRun& run, Check& found) const {
    QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(case_.inputs(), options_, TypeRule::kSameType));
    const check::RowBlock block = check::row_block(shape, case_.inputs(), options_, run);
    QKV_ASSIGN_OR_RETURN(const check::BackwardExpectation want,
                         check::expect_backward(block.inputs, check::rows_of(case_.d_o.view, run), {}, block.options,
                                                check::output_type(case_.problem)));
    QKV_ASSIGN_OR_RETURN(const check::Comparison dq,
                         check::compare(check::rows_of(views_.dq, run), want.want.dq.view(), want.dq));
    check::BackwardVerdict verdict;
    verdict.dq = dq;
    note(verdict, found);
    found.rows += run.count;
    return {};
  }

  const Problem& problem() const { return case_.problem; }

 private:
  static void note(const check::BackwardVerdict& verdict, Check& found) {
    for (const check::Comparison* one : {&verdict.dq, &verdict.dk, &verdict.dv, &verdict.dbias, &verdict.dsinks})
      found.largest_error = std::max(found.largest_error, one->largest_error);
    if (found.failure.empty() && !verdict.passed()) found.failure = to_string(verdict);
  }

  check::Case case_;
  check::CaseOutputs outputs_;
  check::CaseGradients gradients_;
  AttentionBackwardInputs inputs_;  // views into the above, made once
  AttentionBackwardOutputs views_;
  AttentionOptions options_;
};

// One group of heads and a few tiles of the same problem.
Problem shortened(Problem problem) {
  problem.batch = 1;
  problem.query_heads /= problem.kv_heads;
  problem.kv_heads = 1;
  problem.query_length = std::min(problem.query_length, kShortened);
  problem.key_length = std::min(problem.key_length, kShortened);
  return problem;
}

// Whether what the problem says fits its own shape only.
bool is_bound_to_its_shape(const Problem& p) {
  return p.keep || p.bias || !p.key_lengths.empty() || !p.cu_seqlens_q.empty();
}

double work_of(const Problem& p) {
  return static_cast<double>(p.batch * p.query_heads * p.query_length) * static_cast<double>(p.key_length) *
         static_cast<double>(p.width + p.value_width);
}

class BackwardSubject : public Subject {
 public:
  explicit BackwardSubject(bool with_forward) : with_forward_(with_forward) {}
  Status make(const Problem& problem) { return pair_.make(problem); }

  Result<Check> check(const Execution& execution) override {
    QKV_RETURN_IF_ERROR(pair_.forward(execution).status());
    QKV_RETURN_IF_ERROR(pair_.backward(execution).status());
    const Problem& p = pair_.problem();
    Check found;
    found.of_rows = p.batch * p.query_heads * p.query_length;
    if (work_of(p) <= kWholeWork || is_bound_to_its_shape(p)) {
      found.rows = found.of_rows;
      QKV_RETURN_IF_ERROR(pair_.judge_whole(found));
      return found;
    }
    Pair small;
    QKV_RETURN_IF_ERROR(small.make(shortened(p)));
    QKV_RETURN_IF_ERROR(small.forward(execution).status());
    QKV_RETURN_IF_ERROR(small.backward(execution).status());
    QKV_RETURN_IF_ERROR(small.judge_whole(found));
    const std::int64_t count = std::min(kRowsOfARun, p.query_length);
    for (const check::RowRun& run : {check::RowRun{0, 0, 0, count},
                                     check::RowRun{p.batch - 1, p.query_heads / 2, (p.query_length - count) / 2, count},
                                     check::RowRun{p.batch - 1, p.query_heads - 1, p.query_length - count, count}})
      QKV_RETURN_IF_ERROR(pair_.judge_rows(run, found));
    return found;
  }

  Result<Report> call(const Execution& execution) override {
    if (!with_forward_) return pair_.backward(execution);
    QKV_ASSIGN_OR_RETURN(const Report forward, pair_.forward(execution));
    QKV_ASSIGN_OR_RETURN(Report report, pair_.backward(execution));
    report.flops += forward.flops;
    return report;
  }

 private:
  Pair pair_;
  const bool with_forward_;
};

}  // namespace

Result<std::unique_ptr<Subject>> make_backward_subject(const Problem& problem, bool with_forward) {
  auto subject = std::make_unique<BackwardSubject>(with_forward);
  QKV_RETURN_IF_ERROR(subject->make(problem));
  return std::unique_ptr<Subject>(std::move(subject));
}

}  // namespace qkv::bench
