// Checks of a layer's call, and views of its tensors as matrices and heads.
#include "src/layer/layer_call.h"

#include <string>
#include <utility>

#include "src/core/parallel.h"
#include "src/core/status_macros.h"

namespace qkv {
namespace {

template <class V>
V matrix_of(V tensor) {
  const Dims shape{tensor.shape[0] * tensor.shape[1], tensor.shape[2]};
  const std::int64_t row = tensor.shape[1] == 1 ? tensor.strides[0] : tensor.strides[1];
  tensor.strides = {row, tensor.strides[2]};
  tensor.shape = shape;
  return tensor;
}

template <class V>
V heads_of(V tensor, std::int64_t heads) {
  const std::int64_t width = heads == 0 ? 0 : tensor.shape[2] / heads;
  tensor.strides = {tensor.strides[0], width * tensor.strides[2], tensor.strides[1], tensor.strides[2]};
  tensor.shape = {tensor.shape[0], heads, tensor.shape[1], width};
  return tensor;
}

}  // namespace

Result<LayerCall> make_layer_call(View<const void> x, const LayerParameters& parameters, const LayerOptions& options,
                                  const LayerKept& kept, const Execution& execution) {
  QKV_ASSIGN_OR_RETURN(const LayerShape shape, check_layer(x, parameters, options));
  QKV_RETURN_IF_ERROR(check_layer_types(x, parameters));
  QKV_ASSIGN_OR_RETURN(const Target target, resolve_target(execution.target));
  QKV_ASSIGN_OR_RETURN(const int threads, resolve_threads("layer", execution.threads));
  LayerCall call{x, parameters, separated(shape, parameters), options, kept, shape};
  call.target = target;
  call.threads = threads;
  call.type = x.dtype;
  call.compute = x.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  return call;
}

char* Arena::take_bytes(std::size_t bytes) {
  char* at = base_ == nullptr ? nullptr : base_ + used_;
  used_ += (bytes + 63) / 64 * 64;
  return at;
}

View<void> Arena::take(DType dtype, Dims shape) {
  return {take_bytes(static_cast<std::size_t>(element_count(shape)) * size_of(dtype)), dtype, shape};
}

bool is_matrix(const View<const void>& tensor) {
  return tensor.shape[0] <= 1 || tensor.shape[1] <= 1 || tensor.strides[0] == tensor.shape[1] * tensor.strides[1];
}
View<const void> as_matrix(const View<const void>& tensor) { return matrix_of(tensor); }
View<void> as_matrix(const View<void>& tensor) { return matrix_of(tensor); }

View<void> by_token(const LayerCall& call, const View<void>& matrix) {
  const Dims shape{call.shape.batch, call.shape.length, matrix.shape[1]};
  return {
      matrix.data, matrix.dtype, shape, {call.shape.length * matrix.strides[0], matrix.strides[0], matrix.strides[1]}};
}

View<const void> split_heads(const View<const void>& tensor, std::int64_t heads) { return heads_of(tensor, heads); }
View<void> split_heads(const View<void>& tensor, std::int64_t heads) { return heads_of(tensor, heads); }

View<void> columns_of(View<void> tensor, std::int64_t begin, std::int64_t count) {
  const int last = tensor.shape.rank() - 1;
  const auto element = static_cast<std::int64_t>(size_of(tensor.dtype));
  tensor.shape[last] = count;
  if (tensor.data != nullptr) tensor.data = static_cast<char*>(tensor.data) + begin * tensor.strides[last] * element;
  return tensor;
}

HeadMatrices::HeadMatrices(const LayerCall& call, const View<void>& qkv)
    : q(columns_of(qkv, 0, call.q_width())),
      k(columns_of(qkv, call.q_width(), call.k_width())),
      v(columns_of(qkv, call.q_width() + call.k_width(), call.v_width())) {}

}  // namespace qkv
