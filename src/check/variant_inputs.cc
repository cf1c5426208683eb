// Reads q, k and v as an implementation would that mistakes their memory or their order.
#include "src/check/variant_inputs.h"

#include <limits>
#include <utility>

#include "src/ops/attention/attention_ref_row.h"

namespace qkv::check {
namespace {

// Whether the view's memory holds as many numbers, from its first on, as a contiguous tensor of its shape would.
bool could_be_contiguous(const View<const void>& view) {
  std::int64_t last = 0;
  for (int axis = 0; axis < view.shape.rank(); ++axis) {
    if (view.shape[axis] == 0) return false;
    last += (view.shape[axis] - 1) * view.strides[axis];
  }
  return last + 1 >= element_count(view.shape);
}

std::vector<double> memory_in_order(const View<const void>& view) {
  if (!could_be_contiguous(view)) return elements_in_order(view);
  std::vector<double> values(static_cast<std::size_t>(element_count(view.shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = element_as_double(view, static_cast<std::int64_t>(i));
  return values;
}

std::vector<double> elements_within_32_bits(const View<const void>& view) {
  std::vector<double> values;
  for (std::int64_t a = 0; a < view.shape[0]; ++a)
    for (std::int64_t b = 0; b < view.shape[1]; ++b)
      for (std::int64_t c = 0; c < view.shape[2]; ++c)
        for (std::int64_t d = 0; d < view.shape[3]; ++d) {
          const std::int64_t at = a * view.strides[0] + b * view.strides[1] + c * view.strides[2] + d * view.strides[3];
          values.push_back(at > std::numeric_limits<std::int32_t>::max() ? 0 : element_as_double(view, at));
        }
  return values;
}

std::vector<double> read(const View<const void>& view, bool ignores_strides, const MistakeSet& mistakes) {
  if (mistakes.has(MistakeId::kIndexWraps)) return elements_within_32_bits(view);
  std::vector<double> values = ignores_strides ? memory_in_order(view) : elements_in_order(view);
  // The memory of [B,T,H,D] taken for [B,H,T,D].
  return mistakes.has(MistakeId::kHeadsSplitWrong) ? axes_exchanged(values, view.shape) : values;
}

// [B,H,T,D] turned to [D,T,H,B], and that memory taken for [B,H,D,T]: back in the order [B,H,T,D].
std::vector<double> axes_reversed(const std::vector<double>& values, const Dims& shape) {
  std::vector<double> reversed;
  reversed.reserve(values.size());
  for (std::int64_t row = 0; row < shape[0] * shape[1]; ++row)
    for (std::int64_t t = 0; t < shape[2]; ++t)
      for (std::int64_t c = 0; c < shape[3]; ++c) {
        std::int64_t flat = (row * shape[3] + c) * shape[2] + t;
        std::int64_t from = 0;
        for (const int axis : {0, 1, 2, 3}) {  // the last axis of the turned tensor is the first one of `values`
          from += flat % shape[axis] * contiguous_strides(shape)[axis];
          flat /= shape[axis];
        }
        reversed.push_back(values[static_cast<std::size_t>(from)]);
      }
  return reversed;
}

// Rows of `width` numbers from each row's first on, as they lie in memory; 0 past the end.
std::vector<double> padded_rows(const View<const void>& view, std::int64_t width) {
  std::int64_t size = 1;
  for (int axis = 0; axis < view.shape.rank(); ++axis) size += (view.shape[axis] - 1) * view.strides[axis];
  std::vector<double> rows;
  for (std::int64_t b = 0; b < view.shape[0]; ++b)
    for (std::int64_t h = 0; h < view.shape[1]; ++h)
      for (std::int64_t t = 0; t < view.shape[2]; ++t)
        for (std::int64_t c = 0; c < width; ++c) {
          const std::int64_t at = b * view.strides[0] + h * view.strides[1] + t * view.strides[2] + c * view.strides[3];
          rows.push_back(at < size ? element_as_double(view, at) : 0);
        }
  return rows;
}

// q, k and v beside each other in one row a token, sliced in another order.
void slice_packed(const AttentionShape& shape, std::int64_t order, VariantInputs& inputs) {
  if (shape.query_length != shape.key_length || shape.width != shape.value_width) return;
  struct Part {
    std::vector<double>* values;
    std::int64_t columns;
  };
  const Part parts[] = {{&inputs.q, shape.query_heads * shape.width},
                        {&inputs.k, shape.kv_heads * shape.width},
                        {&inputs.v, shape.kv_heads * shape.width}};
  const VariantInputs old = inputs;
  const std::vector<double>* from[] = {&old.q, &old.k, &old.v};
  const auto at = [&](std::int64_t b, std::int64_t t, std::int64_t columns, std::int64_t column) {  // in [B,H,T,D]
    return static_cast<std::size_t>(((b * columns / shape.width + column / shape.width) * shape.key_length + t) *
                                        shape.width +
                                    column % shape.width);
  };
  for (std::int64_t b = 0; b < shape.batch; ++b)
    for (std::int64_t t = 0; t < shape.key_length; ++t) {
      std::vector<double> packed;
      for (std::size_t part = 0; part < 3; ++part)
        for (std::int64_t c = 0; c < parts[part].columns; ++c)
          packed.push_back((*from[part])[at(b, t, parts[part].columns, c)]);
      std::size_t next = 0;
      for (const std::int64_t digit : {order / 100, order / 10 % 10, order % 10}) {
        const Part& part = parts[digit];
        for (std::int64_t c = 0; c < part.columns; ++c) (*part.values)[at(b, t, part.columns, c)] = packed[next++];
      }
    }
}

}  // namespace

std::vector<double> elements_in_order(View<const void> view) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(element_count(view.shape)));
  for (std::int64_t a = 0; a < view.shape[0]; ++a)
    for (std::int64_t b = 0; b < view.shape[1]; ++b)
      for (std::int64_t c = 0; c < view.shape[2]; ++c)
        for (std::int64_t d = 0; d < view.shape[3]; ++d) values.push_back(reference::element_at(view, a, b, c, d));
  return values;
}

std::vector<double> axes_exchanged(const std::vector<double>& values, const Dims& shape) {
  std::vector<double> exchanged;
  exchanged.reserve(values.size());
  const auto at = [&](std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t c) {
    return values[static_cast<std::size_t>(((b * shape[1] + h) * shape[2] + t) * shape[3] + c)];
  };
  for (std::int64_t b = 0; b < shape[0]; ++b)
    for (std::int64_t t = 0; t < shape[2]; ++t)
      for (std::int64_t h = 0; h < shape[1]; ++h)
        for (std::int64_t c = 0; c < shape[3]; ++c) exchanged.push_back(at(b, h, t, c));
  return exchanged;
}

VariantInputs read_inputs(const AttentionShape& shape, const AttentionInputs& inputs, const MistakeSet& mistakes) {
  const std::int64_t ignored = mistakes.parameter(MistakeId::kStridesIgnored);
  VariantInputs read_as;
  read_as.q = read(inputs.q, (ignored & 1) != 0, mistakes);
  read_as.k = read(inputs.k, (ignored & 2) != 0, mistakes);
  read_as.v = read(inputs.v, (ignored & 4) != 0, mistakes);
  if (mistakes.has(MistakeId::kKeysReversed)) read_as.k = axes_reversed(read_as.k, inputs.k.shape);
  if (const std::int64_t multiple = mistakes.parameter(MistakeId::kWidthPadded); multiple > 0) {
    read_as.padded_width = (shape.width + multiple - 1) / multiple * multiple;
    read_as.padded_q = padded_rows(inputs.q, read_as.padded_width);
    read_as.padded_k = padded_rows(inputs.k, read_as.padded_width);
  }
  if (const std::int64_t order = mistakes.parameter(MistakeId::kPackedOrder); order > 0)
    slice_packed(shape, order, read_as);
  if (mistakes.has(MistakeId::kKeyValueSwapped) && shape.width == shape.value_width) std::swap(read_as.k, read_as.v);
  return read_as;
}

}  // namespace qkv::check
