// attention_forward and attention_backward as a subject.
#include "tests/mutants/our_subject.h"

#include <utility>

#include "qkv/attention.h"
#include "src/core/status_macros.h"

namespace mutants {
namespace {

using qkv::Tensor;

Tensor contiguous(qkv::View<const void> view) {
  return view.is_present() ? std::move(qkv::converted(view, view.dtype)).value() : Tensor();
}

}  // namespace

qkv::Result<qkv::check::SubjectAnswer> OurSubject::run(const qkv::check::Case& asked) {
  qkv::Execution execution;
  execution.target = target_;
  execution.threads = 1;
  qkv::Problem with_lse = asked.problem;
  with_lse.lse = true;
  QKV_ASSIGN_OR_RETURN(const qkv::check::CaseOutputs outputs, qkv::check::make_outputs(with_lse));
  QKV_RETURN_IF_ERROR(attention_forward(asked.inputs(), outputs.views(), asked.options(), execution).status());
  qkv::check::SubjectAnswer answer;
  answer.outputs.o = contiguous(outputs.o.view);
  if (asked.problem.lse) answer.outputs.lse = contiguous(outputs.lse.view);
  if (!asked.problem.backward) return answer;
  QKV_ASSIGN_OR_RETURN(const qkv::check::CaseGradients gradients, qkv::check::make_gradients(asked.problem));
  QKV_RETURN_IF_ERROR(attention_backward({asked.q.view, asked.k.view, asked.v.view, outputs.o.view, outputs.lse.view,
                                          asked.d_o.view, asked.d_lse.view},
                                         gradients.views(), asked.options(), execution)
                          .status());
  answer.outputs.dq = contiguous(gradients.dq.view);
  answer.outputs.dk = contiguous(gradients.dk.view);
  answer.outputs.dv = contiguous(gradients.dv.view);
  answer.outputs.dbias = contiguous(gradients.dbias.view);
  answer.outputs.dsinks = contiguous(gradients.dsinks.view);
  return answer;
}

}  // namespace mutants
