// One checked call of the layer, and the tensors that it keeps in scratch.
#ifndef QKV_SRC_LAYER_LAYER_CALL_H_
#define QKV_SRC_LAYER_LAYER_CALL_H_

#include <cstddef>
#include <cstdint>

#include "qkv/layer.h"
#include "qkv/options.h"
#include "qkv/status.h"
#include "src/core/check_layer.h"

namespace qkv {

// Checked and resolved; the same for every step.
struct LayerCall {
  View<const void> x;
  const LayerParameters& parameters;  // as given
  LayerParameters parts;              // with a fused matrix taken apart
  const LayerOptions& options;
  const LayerKept& kept;
  LayerShape shape;
  Target target = Target::kAuto;
  int threads = 1;              // that may work on it
  DType type = DType::kF32;     // of the tensors
  DType compute = DType::kF32;  // f64 for f64, else f32

  std::int64_t rows() const { return shape.batch * shape.length; }
  std::int64_t q_width() const { return shape.query_heads * shape.width; }
  std::int64_t k_width() const { return shape.kv_heads * shape.width; }
  std::int64_t v_width() const { return shape.kv_heads * shape.value_width; }
  std::int64_t qkv_width() const { return q_width() + k_width() + v_width(); }
  std::int64_t merged_width() const { return shape.query_heads * shape.value_width; }
  bool has_norm() const { return options.norm == Norm::kLayerNorm; }
  bool has_output() const { return parameters.wo.is_present(); }
};

// Errors: as check_layer() and check_layer_types(); kUnsupported (the target), kInvalidArgument (threads).
Result<LayerCall> make_layer_call(View<const void> x, const LayerParameters& parameters, const LayerOptions& options,
                                  const LayerKept& kept, const Execution& execution);

// Hands out memory behind `base` tensor by tensor; with a null base it counts only, and its tensors have no data.
class Arena {
 public:
  explicit Arena(char* base) : base_(base) {}
  View<void> take(DType dtype, Dims shape);
  char* take_bytes(std::size_t bytes);
  std::size_t used() const { return used_; }

 private:
  char* base_;
  std::size_t used_ = 0;
};

// [B,T,C] seen as [B·T,C]. Constraint: is_matrix().
bool is_matrix(const View<const void>& tensor);
View<const void> as_matrix(const View<const void>& tensor);
View<void> as_matrix(const View<void>& tensor);

// [rows,C] in scratch seen as [B,T,C].
View<void> by_token(const LayerCall& call, const View<void>& matrix);

// [B,T,H·width], last axis split, seen as [B,H,T,width].
View<const void> split_heads(const View<const void>& tensor, std::int64_t heads);
View<void> split_heads(const View<void>& tensor, std::int64_t heads);

// Columns [begin, begin + count) of a matrix, or entries of a vector.
View<void> columns_of(View<void> tensor, std::int64_t begin, std::int64_t count);

// q, k and v side by side in one matrix [rows, qkv_width].
struct HeadMatrices {
  View<void> q, k, v;  // [rows, width]
  HeadMatrices(const LayerCall& call, const View<void>& qkv);
};

}  // namespace qkv

#endif  // QKV_SRC_LAYER_LAYER_CALL_H_
