// Each fake is held to the bounds of every probe.
#include "src/check/power.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "qkv/reference.h"
#include "src/check/generate.h"
#include "src/core/status_macros.h"

namespace qkv::check {
namespace {

struct Fake {
  const char* name;
  std::function<Result<Tensor>(const Case&)> output;  // f64
};

Result<Tensor> constant(const Case& asked, double value) {
  const Problem& problem = asked.problem;
  QKV_ASSIGN_OR_RETURN(Tensor o, Tensor::zeros(DType::kF64, {problem.batch, problem.query_heads, problem.query_length,
                                                             problem.value_width}));
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

}  // namespace

Result<std::vector<std::string>> powerless_fakes(std::span<const Evidence> evidence) {
  const std::vector<Fake> fakes = {{"zeros", [](const Case& asked) { return constant(asked, 0); }},
                                   {"a constant", [](const Case& asked) { return constant(asked, 0.5); }},
                                   {"the mean of v", mean_of_values},
                                   {"v in another order", values_reversed}};
  std::vector<std::string> powerless;
  for (const Fake& fake : fakes) {
    bool passes = true;
    for (const Evidence& one : evidence) {
      const auto o = std::ranges::find(one.tensors, "o", &TensorVerdict::name);
      if (o == one.tensors.end()) continue;
      QKV_ASSIGN_OR_RETURN(const Tensor output, fake.output(one.asked));
      QKV_ASSIGN_OR_RETURN(const Comparison comparison, compare(output.view(), one.want.o.view(), o->bound));
      passes = comparison.passed;
      if (!passes) break;
    }
    if (passes) powerless.emplace_back(fake.name);
  }
  return powerless;
}

}  // namespace qkv::check
