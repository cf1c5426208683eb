// One row at a time.
#include "src/survey/self_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "src/core/positions.h"
#include "src/core/status_macros.h"
#include "src/survey/row_slice.h"

namespace qkv {
namespace {

double difference(double found, double want) {
  if (std::isnan(found) && std::isnan(want)) return 0;
  if (found == want) return 0;  // infinities too
  const double error = std::fabs(found - want);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

}  // namespace

Result<std::vector<double>> worst_differences(const AttentionInputs& inputs, const View<const void>& o,
                                              std::span<const std::int64_t> rows, const AttentionOptions& options,
                                              const Execution& execution) {
  QKV_ASSIGN_OR_RETURN(const AttentionShape shape, check_attention(inputs, options, TypeRule::kSameType));
  const Dims expected{shape.batch, shape.query_heads, static_cast<std::int64_t>(rows.size()), shape.value_width};
  if (!(o.shape == expected) || !is_floating(o.dtype))
    return shape_mismatch("survey: o is " + to_string(o.shape) + " " + std::string(to_string(o.dtype)) + "; expected " +
                          to_string(expected) + " of a floating type");
  const DType type = inputs.q.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  QKV_ASSIGN_OR_RETURN(Tensor memory, Tensor::zeros(type, {1, shape.query_heads, 1, shape.value_width}));
  const Positions positions(shape, options);
  std::vector<double> worst(static_cast<std::size_t>(shape.batch * shape.query_heads));
  for (std::int64_t batch = 0; batch < shape.batch; ++batch)
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (rows[r] < 0 || rows[r] >= shape.query_length)
        return shape_mismatch("survey: row " + std::to_string(rows[r]) + " is none of " +
                              std::to_string(shape.query_length) + " queries");
      const Sequence sequence = positions.sequence_of(batch, rows[r]);
      const RowSlice slice(inputs, options, sequence, batch, rows[r]);
      QKV_RETURN_IF_ERROR(attention_forward(slice.inputs, {memory.view(), {}}, slice.options, execution).status());
      for (std::int64_t head = 0; head < shape.query_heads; ++head) {
        double& most = worst[static_cast<std::size_t>(batch * shape.query_heads + head)];
        for (std::int64_t c = 0; c < shape.value_width; ++c) {
          const std::int64_t at = batch * o.strides[0] + head * o.strides[1] +
                                  static_cast<std::int64_t>(r) * o.strides[2] + c * o.strides[3];
          most = std::max(most, difference(element_as_double(memory.view(), head * shape.value_width + c),
                                           element_as_double(o, at)));
        }
      }
    }
  return worst;
}

}  // namespace qkv
