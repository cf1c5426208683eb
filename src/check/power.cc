// Each fake is held to the bounds of every probe.
#include "src/check/power.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "qkv/reference.h"
#include "src/check/generate.h"
#include "src/check/variant_layer.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

struct Fake {
  const char* name;
  std::function<Result<Tensor>(const Case&)> output;  // f64
};

Result<Tensor> constant(const Case& asked, double value) {
  const Problem& problem = asked.problem;
  const Dims heads{problem.batch, problem.query_heads, problem.query_length, problem.value_width};
  QKV_ASSIGN_OR_RETURN(Tensor o, Tensor::zeros(DType::kF64, is_layer(problem) ? layer_output_shape(problem) : heads));
  std::fill_n(o.data<double>(), o.size(), value);
  return o;
}

// The scores ignored: every key that is seen has the same weight.
Result<Tensor> mean_of_values(const Case& asked) {
  AttentionOptions options = asked.options();
  options.scale = 0;
  options.bias = {};
  options.slopes = {};
  options.sinks = {};
  QKV_ASSIGN_OR_RETURN(reference::AttentionResult result, reference::attention_forward(asked.inputs(), options));
  return std::move(result.o);
}

// v read from its end.
Result<Tensor> values_reversed(const Case& asked) {
  AttentionInputs inputs = asked.inputs();
  QKV_ASSIGN_OR_RETURN(const Tensor v, converted(inputs.v, DType::kF64));
  QKV_ASSIGN_OR_RETURN(Tensor reversed, Tensor::zeros(DType::kF64, inputs.v.shape));
  std::reverse_copy(v.data<double>(), v.data<double>() + v.size(), reversed.data<double>());
  inputs.v = std::as_const(reversed).view();
  QKV_ASSIGN_OR_RETURN(reference::AttentionResult result, reference::attention_forward(inputs, asked.options()));
  return std::move(result.o);
}

// x, of a layernorm; of a layer, the mean of v in the place of attention.
Result<Tensor> scores_ignored(const Case& asked) {
  LayerGiven given = asked.layer_given();
  given.options.attention.scale = 0;
  given.d_y = {};
  const bool is_norm = asked.problem.operation == Operation::kLayerNorm;
  if (is_norm) return converted(given.x, DType::kF64);
  QKV_ASSIGN_OR_RETURN(LayerOutputs out, compute_layer_variant(given, {}));
  return std::move(out.y);
}

std::vector<Fake> fakes_of(Operation operation) {
  const auto zeros = [](const Case& asked) { return constant(asked, 0); };
  const auto half = [](const Case& asked) { return constant(asked, 0.5); };
  if (operation == Operation::kLayerNorm) return {{"zeros", zeros}, {"a constant", half}, {"x itself", scores_ignored}};
  if (operation == Operation::kLayer)
    return {{"zeros", zeros}, {"a constant", half}, {"a layer that ignores the scores", scores_ignored}};
  return {{"zeros", zeros},
          {"a constant", half},
          {"the mean of v", mean_of_values},
          {"v in another order", values_reversed}};
}

}  // namespace

Result<std::vector<std::string>> powerless_fakes(std::span<const Evidence> evidence) {
  std::vector<std::string> powerless;
  if (evidence.empty()) return powerless;
  for (const Fake& fake : fakes_of(evidence.front().asked.problem.operation)) {
    bool passes = true;
    for (const Evidence& one : evidence) {
      const std::string_view name = is_layer(one.asked.problem) ? "y" : "o";
      const auto o = std::ranges::find(one.tensors, name, &TensorVerdict::name);
      if (o == one.tensors.end()) continue;
      QKV_ASSIGN_OR_RETURN(const Tensor output, fake.output(one.asked));
      QKV_ASSIGN_OR_RETURN(const Comparison comparison, compare(output.view(), main_output(one.want).view(), o->bound));
      passes = comparison.passed;
      if (!passes) break;
    }
    if (passes) powerless.emplace_back(fake.name);
  }
  return powerless;
}

}  // namespace qkv::check
