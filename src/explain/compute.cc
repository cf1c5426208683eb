// The reference's arguments from a request.
#include "src/explain/compute.h"

#include <utility>

#include "src/core/status_macros.h"

namespace qkv {
namespace {

Result<Tensor> mask_of(const Numbers& numbers, std::string_view name) {
  QKV_ASSIGN_OR_RETURN(Tensor mask, Tensor::zeros(DType::kU8, numbers.shape));
  for (std::size_t i = 0; i < numbers.values.size(); ++i) {
    const double value = numbers.values[i];
    if (value != 0 && value != 1)
      return invalid_argument("explain: " + std::string(name) + " has the entry " + number_to_json(value) +
                              "; expected true (may be seen) or false. Numbers to be added are `bias`");
    mask.data<std::uint8_t>()[i] = value != 0 ? 1 : 0;
  }
  return mask;
}

Numbers ones(const Dims& shape) {
  return {std::vector<double>(static_cast<std::size_t>(element_count(shape)), 1.0), shape};
}

}  // namespace

Result<Computation> Computation::create(Request& request) {
  Computation computation(request);
  QKV_RETURN_IF_ERROR(computation.bind());
  return computation;
}

Status Computation::bind() {
  if (const Numbers* keep = request_.find("keep")) {
    QKV_ASSIGN_OR_RETURN(keep_, mask_of(*keep, "keep"));
  }
  if (const Numbers* mask = request_.find("key_mask")) {
    QKV_ASSIGN_OR_RETURN(key_mask_, mask_of(*mask, "key_mask"));
  }
  if (!request_.backward) return {};
  QKV_ASSIGN_OR_RETURN(const Tensor result, output());
  Numbers& d_output = request_.tensors["d_output"];
  if (!d_output.is_present()) d_output = ones(result.shape());
  if (d_output.shape == result.shape()) return {};
  return shape_mismatch("explain: d_output is " + to_string(d_output.shape) + ", but the output is " +
                        to_string(result.shape()));
}

View<const void> Computation::view_of(std::string_view name) const {
  const Numbers* numbers = request_.find(name);
  return numbers == nullptr ? View<const void>() : View<const void>(numbers->view());
}

AttentionInputs Computation::inputs() const { return {view_of("q"), view_of("k"), view_of("v")}; }

AttentionOptions Computation::options() const {
  AttentionOptions options = request_.attention;
  options.bias = view_of("bias");
  if (keep_.is_present()) options.keep = keep_.view();
  if (key_mask_.is_present()) options.key_mask = key_mask_.view();
  request_.lists.bind_to(options);
  return options;
}

LayerParameters Computation::parameters() const {
  LayerParameters parameters;
  const std::pair<const char*, View<const void>*> all[] = {
      {"gamma", &parameters.gamma}, {"beta", &parameters.beta}, {"wq", &parameters.wq}, {"wk", &parameters.wk},
      {"wv", &parameters.wv},       {"bq", &parameters.bq},     {"bk", &parameters.bk}, {"bv", &parameters.bv},
      {"wqkv", &parameters.wqkv},   {"bqkv", &parameters.bqkv}, {"wo", &parameters.wo}, {"bo", &parameters.bo}};
  for (const auto& [name, view] : all) *view = view_of(name);
  return parameters;
}

LayerOptions Computation::layer_options() const {
  return {request_.query_heads, request_.kv_heads, request_.norm, request_.eps, options()};
}

Result<Tensor> Computation::output() const {
  if (request_.kind == RequestKind::kLayer)
    return reference::layer_forward(view_of("x"), parameters(), layer_options());
  QKV_ASSIGN_OR_RETURN(reference::AttentionResult result, reference::attention_forward(inputs(), options()));
  return std::move(result.o);
}

Result<Trace> Computation::trace() const {
  Trace trace;
  const bool layer = request_.kind == RequestKind::kLayer;
  if (layer && request_.backward) {
    QKV_RETURN_IF_ERROR(
        reference::layer_backward(view_of("x"), parameters(), view_of("d_output"), layer_options(), &trace).status());
  } else if (layer) {
    QKV_RETURN_IF_ERROR(reference::layer_forward(view_of("x"), parameters(), layer_options(), &trace).status());
  } else if (request_.backward) {
    QKV_RETURN_IF_ERROR(reference::attention_backward(inputs(), view_of("d_output"), {}, options(), &trace).status());
  } else {
    QKV_RETURN_IF_ERROR(reference::attention_forward(inputs(), options(), &trace).status());
  }
  return trace;
}

Result<double> Computation::loss() const {
  QKV_ASSIGN_OR_RETURN(const Tensor result, output());
  const std::vector<double>& weights = request_.tensors.at("d_output").values;
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * result.data<double>()[i];
  return sum;
}

}  // namespace qkv
