// A layer or a layernorm from files, by the names of its tensors.
#include "apps/cli/check_layer_inputs.h"

#include <string>
#include <utility>

#include "src/core/check_layer.h"
#include "src/core/status_macros.h"
#include "src/ops/layernorm/check_layernorm.h"

namespace qkv::cli {
namespace {

using check::kLayerOutputs;
using check::kLayerTensors;
using check::LayerTensors;

std::string file_name(std::string_view name) { return name == "d_y" ? "dy" : std::string(name); }

// Row-major, and a single sequence as a batch of one.
Result<check::Placed> placed(View<const void> view, int rank) {
  if (view.shape.rank() == rank - 1) {
    Dims shape{1};
    for (int axis = 0; axis < view.shape.rank(); ++axis) shape.push_back(view.shape[axis]);
    QKV_ASSIGN_OR_RETURN(const Tensor copied, converted(view, view.dtype));
    return check::place(View<const void>(copied.data<void>(), view.dtype, shape));
  }
  return check::place(view);
}

Status read_tensors(InputFiles& files, LayerTensors& layer) {
  for (const check::NamedLayerTensor& one : kLayerTensors) {
    const std::string name = file_name(one.name);
    if (!files.hold(name)) continue;
    QKV_ASSIGN_OR_RETURN(const View<const void> view, files.view("--given", name));
    if (!is_floating(view.dtype))
      return shape_mismatch("--given: " + name + " is " + std::string(to_string(view.dtype)) +
                            "; expected f64, f32, bf16 or f16");
    const bool is_tokens = one.member == &LayerTensors::x || one.member == &LayerTensors::d_y;
    QKV_ASSIGN_OR_RETURN(layer.*one.member, placed(view, is_tokens ? 3 : view.shape.rank()));
  }
  if (!layer.x.view.is_present()) return invalid_argument("--given holds no x, which a layer starts from");
  return {};
}

Status read_masks(InputFiles& files, check::Case& asked) {
  for (const char* name : {"slopes", "sinks", "key_lengths", "cu_seqlens_q", "cu_seqlens_k"})
    if (files.hold(name))
      return unsupported(std::string("--given holds ") + name + ", which is not read for a layer; check its attention");
  for (const auto& [name, to] :
       {std::pair("keep", &asked.keep), std::pair("key_mask", &asked.key_mask), std::pair("bias", &asked.bias)}) {
    if (!files.hold(name)) continue;
    QKV_ASSIGN_OR_RETURN(const View<const void> view, files.view("--given", name));
    QKV_ASSIGN_OR_RETURN(*to, check::place(view));
  }
  if (asked.keep.view.is_present()) asked.problem.keep = asked.keep.view.shape;
  if (asked.bias.view.is_present()) asked.problem.bias = asked.bias.view.shape;
  asked.problem.key_mask = asked.key_mask.view.is_present();
  return {};
}

// The sizes that the tensors have; heads and options are the line's.
Status read_sizes(check::Case& asked) {
  Problem& problem = asked.problem;
  const View<void> x = asked.layer.x.view;
  problem.dtype = x.dtype;
  problem.layer.norm = problem.operation == Operation::kLayerNorm || asked.layer.gamma.view.is_present() ||
                       asked.layer.beta.view.is_present() || problem.layer.norm;
  const check::LayerGiven given = asked.layer_given();
  if (problem.operation == Operation::kLayerNorm) {
    QKV_RETURN_IF_ERROR(check_layernorm(given.x, {given.parameters.gamma, given.parameters.beta, given.options.eps}));
    if (x.shape.rank() != 3) return shape_mismatch("--given: x is " + to_string(x.shape) + ", expected [B,T,C]");
    problem.layer.channels = x.shape[2];
  } else {
    QKV_ASSIGN_OR_RETURN(const LayerShape shape, check_layer(given.x, given.parameters, given.options));
    problem.width = shape.width;
    problem.value_width = shape.value_width;
    problem.layer.channels = shape.channels;
    problem.layer.out_channels = given.parameters.wo.is_present() ? shape.out_channels : 0;
    problem.layer.fused = given.parameters.wqkv.is_present();
    problem.layer.biases = given.parameters.bq.is_present() || given.parameters.bqkv.is_present();
  }
  problem.batch = x.shape[0];
  problem.query_length = problem.key_length = x.shape[1];
  return {};
}

Status read_results(InputFiles& files, const check::Case& asked, check::LayerOutputs& got) {
  for (const check::NamedLayerOutput& one : kLayerOutputs) {
    if (!files.hold(one.name)) continue;
    QKV_ASSIGN_OR_RETURN(const View<const void> view, files.view("--got", one.name));
    const bool is_result = one.member == &check::LayerOutputs::y;
    const View<void> of = (asked.layer.*one.of).view;
    if (!is_result && !of.is_present())
      return invalid_argument(std::string("--got holds ") + one.name + ", the gradient of what --given does not hold");
    const Dims shape = is_result ? check::layer_output_shape(asked.problem) : of.shape;
    QKV_ASSIGN_OR_RETURN(const check::Placed result, placed(view, shape.rank()));
    if (!is_floating(view.dtype) || !(result.view.shape == shape))
      return shape_mismatch(std::string("--got: ") + one.name + " is " + std::string(to_string(view.dtype)) + " " +
                            to_string(view.shape) + ", expected a floating " + to_string(shape));
    QKV_ASSIGN_OR_RETURN(got.*one.member, converted(result.view, view.dtype));
  }
  return {};
}

}  // namespace

Result<GivenCase> read_given_layer(InputFiles& inputs, InputFiles& results, const Problem& said) {
  GivenCase made;
  made.asked.problem = said;
  QKV_RETURN_IF_ERROR(read_tensors(inputs, made.asked.layer));
  QKV_RETURN_IF_ERROR(read_masks(inputs, made.asked));
  QKV_RETURN_IF_ERROR(read_sizes(made.asked));
  QKV_RETURN_IF_ERROR(read_results(results, made.asked, made.got.layer));
  bool has_gradient = false;
  bool has_any = false;
  for (const check::NamedLayerOutput& one : kLayerOutputs) {
    const bool is_there = (made.got.layer.*one.member).is_present();
    has_any = has_any || is_there;
    has_gradient = has_gradient || (is_there && one.member != &check::LayerOutputs::y);
  }
  if (!has_any) return invalid_argument("--got holds no y, dx or another gradient: nothing to judge");
  if (has_gradient && !made.asked.layer.d_y.view.is_present())
    return invalid_argument("--got holds gradients, and --given no dy that they come from");
  if (!has_gradient) made.asked.layer.d_y = {};
  made.asked.problem.backward = has_gradient;
  return made;
}

}  // namespace qkv::cli
