// One probe that was asked: the case, the answer, and how far it is from right.
#ifndef QKV_SRC_CHECK_EVIDENCE_H_
#define QKV_SRC_CHECK_EVIDENCE_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/check/bounds.h"
#include "src/check/mistake.h"
#include "src/check/subject.h"
#include "src/check/variant.h"

namespace qkv::check {

// One tensor of an answer against what is wanted.
struct TensorVerdict {
  std::string name;  // "o" "lse" "dq" "dk" "dv" "dbias" "dsinks" "cache_k" "cache_v" "y" "dx" ...
  Bound bound;
  Comparison comparison;
};

struct Evidence {
  Case asked;
  SubjectAnswer answer;
  VariantResult want;                  // float64, with the accepted policies
  std::vector<TensorVerdict> tensors;  // of what was given; empty unless answered
  bool is_answered() const { return answer.end == SubjectEnd::kAnswered; }
  bool is_refused() const { return answer.end == SubjectEnd::kRefused; }
  bool failed() const;
  // Null if every tensor is right.
  const TensorVerdict* first_failure() const;
};

// Whether a tensor is a result of the forward pass, no gradient.
bool is_forward(std::string_view tensor);

// o; y of a layer or a layernorm.
template <class Outputs>  // SubjectOutputs or VariantResult
const Tensor& main_output(const Outputs& outputs) {
  return outputs.layer.y.is_present() ? outputs.layer.y : outputs.o;
}

// A given tensor of an answer beside the same of a variant.
struct GivenTensor {
  const char* name;
  const Tensor* got;
  const Tensor* want;
};
std::vector<GivenTensor> given_tensors(const SubjectOutputs& outputs, const VariantResult& want);

// Runs the reference and the plain computation and judges the answer. `accepted` are policies that count as right.
// Errors: as attention_forward; kShapeMismatch does not occur: an output of the wrong shape is a failed answer.
Result<Evidence> judge_answer(Case asked, SubjectAnswer answer, std::span<const Mistake> accepted);

}  // namespace qkv::check

#endif  // QKV_SRC_CHECK_EVIDENCE_H_
