// Decode: a cache that holds all tokens but the new ones before every call.
#include <algorithm>
#include <vector>

#include "bench/subjects.h"
#include "qkv/decode.h"
#include "src/check/generate.h"
#include "src/check/row_block.h"
#include "src/core/status_macros.h"

namespace qkv::bench {
namespace {

Status check_problem(const Problem& problem) {
  if (problem.query_length > problem.key_length)
    return invalid_argument("decode: T" + std::to_string(problem.query_length) + "x" +
                            std::to_string(problem.key_length) + ": Tk counts the new tokens too");
  if (!problem.key_lengths.empty() || !problem.cu_seqlens_q.empty())
    return invalid_argument(
        "decode: the cache has lengths of its own; leave "
        "lengths= and cu_q= out");
  return {};
}

// The last `count` tokens of [B,H,T,D].
View<const void> last_tokens(View<const void> view, std::int64_t count) {
  const std::int64_t offset = (view.shape[2] - count) * view.strides[2];
  view.data = static_cast<const char*>(view.data) + offset * static_cast<std::int64_t>(size_of(view.dtype));
  view.shape[2] = count;
  return view;
}

class DecodeSubject : public Subject {
 public:
  Status make(const Problem& problem) {
    QKV_ASSIGN_OR_RETURN(case_, check::generate(problem));
    QKV_ASSIGN_OR_RETURN(outputs_, check::make_outputs(problem));
    QKV_ASSIGN_OR_RETURN(new_k_, check::place(last_tokens(case_.k.view, problem.query_length)));
    QKV_ASSIGN_OR_RETURN(new_v_, check::place(last_tokens(case_.v.view, problem.query_length)));
    views_ = outputs_.views();
    options_ = case_.options();
    options_.causality = Causality::kCausal;
    options_.corner = Corner::kBottomRight;
    lengths_.resize(static_cast<std::size_t>(problem.batch));
    inputs_ = {case_.q.view, new_k_.view, new_v_.view};
    cache_ = {case_.k.view, case_.v.view, {}, lengths_};
    return {};
  }

  Result<Check> check(const Execution& execution) override {
    QKV_RETURN_IF_ERROR(call(execution).status());
    QKV_ASSIGN_OR_RETURN(const check::SampledVerdict verdict, check::judge_rows(case_.inputs(), options_, views_));
    return Check{verdict.largest_error, verdict.rows, verdict.of_rows, verdict.failure};
  }

  Result<Report> call(const Execution& execution) override {
    const Problem& problem = case_.problem;
    std::fill(lengths_.begin(), lengths_.end(), problem.key_length - problem.query_length);
    return attention_decode(inputs_, cache_, views_, options_, execution);
  }

  double bytes() const override {
    const Problem& p = case_.problem;
    return static_cast<double>(p.batch * p.kv_heads * p.key_length * (p.width + p.value_width)) *
           static_cast<double>(size_of(p.dtype));
  }

 private:
  check::Case case_;
  check::CaseOutputs outputs_;
  check::Placed new_k_, new_v_;
  std::vector<std::int64_t> lengths_;
  DecodeInputs inputs_;  // views into the above, made once
  KeyValueCache cache_;
  AttentionOutputs views_;
  AttentionOptions options_;
};

}  // namespace

Result<std::unique_ptr<Subject>> make_decode_subject(const Problem& problem) {
  QKV_RETURN_IF_ERROR(check_problem(problem));
  auto subject = std::make_unique<DecodeSubject>();
  QKV_RETURN_IF_ERROR(subject->make(problem));
  return std::unique_ptr<Subject>(std::move(subject));
}

}  // namespace qkv::bench
