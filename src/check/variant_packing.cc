// Lists of column numbers.
#include "src/check/variant_packing.h"

#include "src/core/status_macros.h"

namespace qkv::check {

using enum MistakeId;

PackedColumns packed_columns(const LayerShape& shape, const MistakeSet& mistakes) {
  const std::int64_t widths[3] = {shape.query_heads * shape.width, shape.kv_heads * shape.width,
                                  shape.kv_heads * shape.value_width};
  PackedColumns columns;
  std::int64_t next = 0;
  const auto take = [&](std::int64_t part, std::int64_t count) {
    for (std::int64_t c = 0; c < count; ++c) columns.of[part].push_back(next++);
  };
  if (mistakes.has(kPackedByHead)) {
    for (std::int64_t h = 0; h < shape.kv_heads; ++h) {
      take(0, shape.query_heads / shape.kv_heads * shape.width);
      take(1, shape.width);
      take(2, shape.value_width);
    }
    return columns;
  }
  std::int64_t order = mistakes.parameter(kPackedOrder);
  if (mistakes.has(kKeyValueSwapped)) order = 21;
  if (order == 0) order = 12;  // the digits 0 1 2
  for (const std::int64_t part : {order / 100, order / 10 % 10, order % 10}) take(part, widths[part]);
  return columns;
}

Result<Tensor> taken(View<const void> w, const std::vector<std::int64_t>& from) {
  const bool is_matrix = w.shape.rank() == 2;
  const auto width = static_cast<std::int64_t>(from.size());
  QKV_ASSIGN_OR_RETURN(Tensor part, Tensor::zeros(DType::kF64, is_matrix ? Dims{w.shape[0], width} : Dims{width}));
  const std::int64_t rows = is_matrix ? w.shape[0] : 1;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < width; ++c) {
      const std::int64_t column = from[static_cast<std::size_t>(c)];
      const std::int64_t at = is_matrix ? r * w.strides[0] + column * w.strides[1] : column * w.strides[0];
      part.data<double>()[r * width + c] = element_as_double(w, at);
    }
  return part;
}

Result<Tensor> packed(const PackedColumns& columns, const Tensor* const (&parts)[3], View<const void> whole) {
  QKV_ASSIGN_OR_RETURN(Tensor gradient, Tensor::zeros(DType::kF64, whole.shape));
  const std::int64_t width = whole.shape[whole.shape.rank() - 1];
  for (int part = 0; part < 3; ++part) {
    const std::vector<std::int64_t>& from = columns.of[part];
    const auto count = static_cast<std::int64_t>(from.size());
    for (std::int64_t at = 0; parts[part]->is_present() && at < parts[part]->size(); ++at)
      gradient.data<double>()[at / count * width + from[static_cast<std::size_t>(at % count)]] =
          element_as_double(parts[part]->view(), at);
  }
  return gradient;
}

}  // namespace qkv::check
