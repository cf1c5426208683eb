// Each operation as a subject.
#include "tests/mutants/our_subject.h"

#include <utility>

#include "qkv/attention.h"
#include "qkv/decode.h"
#include "qkv/layer.h"
#include "src/check/variant_cache.h"
#include "src/core/status_macros.h"
#include "src/ops/layernorm/layernorm.h"

namespace mutants {
namespace {

using qkv::Tensor;

Tensor contiguous(qkv::View<const void> view) {
  return view.is_present() ? std::move(qkv::converted(view, view.dtype)).value() : Tensor();
}

qkv::Result<qkv::check::SubjectAnswer> decoded(const qkv::check::Case& asked, const qkv::Execution& execution) {
  QKV_ASSIGN_OR_RETURN(qkv::check::CacheState cache, qkv::check::cache_before(asked));
  QKV_ASSIGN_OR_RETURN(const qkv::check::CacheState tokens, qkv::check::new_tokens(asked));
  qkv::Problem with_lse = asked.problem;
  with_lse.lse = true;
  QKV_ASSIGN_OR_RETURN(const qkv::check::CaseOutputs outputs, qkv::check::make_outputs(with_lse));
  qkv::AttentionOptions options = asked.options();
  options.key_lengths = {};  // the cache has them
  QKV_RETURN_IF_ERROR(attention_decode({asked.q.view, tokens.k.view(), tokens.v.view()},
                                       {cache.k.view(), cache.v.view(), {}, cache.lengths}, outputs.views(), options,
                                       execution)
                          .status());
  qkv::check::SubjectAnswer answer;
  answer.outputs.o = contiguous(outputs.o.view);
  if (asked.problem.lse) answer.outputs.lse = contiguous(outputs.lse.view);
  answer.outputs.cache_k = std::move(cache.k);
  answer.outputs.cache_v = std::move(cache.v);
  return answer;
}

qkv::Result<qkv::check::SubjectAnswer> layered(const qkv::check::Case& asked, const qkv::Execution& execution) {
  const qkv::Problem& problem = asked.problem;
  const qkv::check::LayerGiven given = asked.layer_given();
  const qkv::LayerNormWeights norm{given.parameters.gamma, given.parameters.beta, given.options.eps};
  const bool is_norm = problem.operation == qkv::Operation::kLayerNorm;
  qkv::check::SubjectAnswer answer;
  qkv::check::LayerOutputs& out = answer.outputs.layer;
  QKV_ASSIGN_OR_RETURN(out.y, Tensor::zeros(problem.dtype, qkv::check::layer_output_shape(problem)));
  QKV_RETURN_IF_ERROR((is_norm ? layernorm_forward(given.x, norm, out.y.view(), execution)
                               : layer_forward(given.x, given.parameters, out.y.view(), given.options, execution))
                          .status());
  if (!problem.backward) return answer;
  for (const qkv::check::NamedLayerOutput& one : qkv::check::kLayerOutputs) {
    const qkv::View<void> of = (asked.layer.*one.of).view;
    if (one.member == &qkv::check::LayerOutputs::y || !of.is_present()) continue;
    QKV_ASSIGN_OR_RETURN(out.*one.member, Tensor::zeros(problem.dtype, of.shape));
  }
  const auto view = [](Tensor& tensor) { return tensor.is_present() ? tensor.view() : qkv::View<void>(); };
  if (is_norm)
    QKV_RETURN_IF_ERROR(
        layernorm_backward(given.x, given.d_y, norm, {view(out.dx), view(out.dgamma), view(out.dbeta)}, execution)
            .status());
  else
    QKV_RETURN_IF_ERROR(layer_backward(given.x, given.parameters, given.d_y,
                                       {view(out.dx), view(out.dgamma), view(out.dbeta), view(out.dwq), view(out.dwk),
                                        view(out.dwv), view(out.dbq), view(out.dbk), view(out.dbv), view(out.dwqkv),
                                        view(out.dbqkv), view(out.dwo), view(out.dbo)},
                                       given.options, execution)
                            .status());
  return answer;
}

}  // namespace

qkv::Result<qkv::check::SubjectAnswer> OurSubject::run(const qkv::check::Case& asked) {
  qkv::Execution execution;
  execution.target = target_;
  execution.threads = 1;
  if (asked.problem.operation == qkv::Operation::kDecode) return decoded(asked, execution);
  if (qkv::check::is_layer(asked.problem)) return layered(asked, execution);
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
